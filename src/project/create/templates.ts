/**
 * Kinds of projects that `init` creates, the default first. Each is a pile of folders below `templates/`: a file of a later
 * one replaces the same file of an earlier one. The `note` is for the project's README: Markdown, what to try first.
 */
export const TEMPLATES = {
  minimal: { title: 'One agent with one tool', layers: ['project'], note: '' },
  tools: {
    title: 'An agent with several tools, in TypeScript and Python',
    layers: ['project', 'shop', 'tools'],
    note: '',
  },
  rag: {
    title: 'An agent that answers from the files of a folder',
    layers: ['project', 'rag'],
    note: 'The agent answers from the files in `documents/`. Replace them by yours: edits are found with the next question.',
  },
  approval: {
    title: 'An agent whose tool waits for a person',
    layers: ['project', 'shop', 'approval'],
    note: 'Ask for a refund of more than 10 euros: it waits until you decide, with `agent-host approvals` or under **Approvals** at <http://127.0.0.1:9001>.',
  },
  team: {
    title: 'An agent that asks two others',
    layers: ['project', 'shop', 'team'],
    note: '`agents/example.yml` is the front desk. It asks the agents `orders` and `time`, which also answer by themselves.',
  },
} as const

export type TemplateName = keyof typeof TEMPLATES
