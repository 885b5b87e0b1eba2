/**
 * Kinds of projects that `init` creates, the default first. Each is a pile of folders below `templates/`: a file of a later
 * one replaces the same file of an earlier one.
 */
export const TEMPLATES = {
  minimal: { title: 'One agent with one tool', layers: ['project'], question: 'What time is it in Tokyo?' },
  tools: {
    title: 'An agent with several tools, in TypeScript and Python',
    layers: ['project', 'shop', 'tools'],
    question: 'Where is order A-1002?',
  },
  rag: {
    title: 'An agent that answers from the files of a folder',
    layers: ['project', 'rag'],
    question: 'What does delivery cost?',
  },
  approval: {
    title: 'An agent whose tool waits for a person',
    layers: ['project', 'shop', 'approval'],
    question: 'Where is order A-1002?',
  },
  team: {
    title: 'A router and two specialists',
    layers: ['project', 'shop', 'team'],
    question: 'Where is order A-1002?',
  },
} as const

export type TemplateName = keyof typeof TEMPLATES
