import { defineTool, Type } from 'agent-host'

/** A tool is a function that a model may call. List this file under `files` of a module `tools/local`. */
export const NAME = defineTool({
  // The model decides by this whether to call it.
  description: 'Counts the words of a text.',
  // What it must be given: checked before it is called.
  parameters: Type.Object({
    text: Type.String({ description: 'The text to look at.' }),
  }),
  // The model reads what this returns, and the message of an error that it throws.
  async execute({ text }) {
    return { words: text.split(/\s+/).filter((word) => word !== '').length }
  },
})
