/**
 * Kinds of projects that `init` creates, the default first. Each is a pile of folders below `templates/`: a file of a later
 * one replaces the same file of an earlier one.
 */
export const TEMPLATES = {
  minimal: { title: 'One agent with one tool', layers: ['project'] },
  tools: {
    title: 'An agent with several tools, in TypeScript and Python',
    layers: ['project', 'shop', 'tools'],
  },
  rag: {
    title: 'An agent that answers from the files of a folder',
    layers: ['project', 'rag'],
  },
  approval: {
    title: 'An agent whose tool waits for a person',
    layers: ['project', 'shop', 'approval'],
  },
  team: {
    title: 'An agent that asks two others',
    layers: ['project', 'shop', 'team'],
  },
} as const

export type TemplateName = keyof typeof TEMPLATES
