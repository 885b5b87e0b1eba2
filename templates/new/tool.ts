import { defineTool, Type } from 'agent-host'

/** A tool is a function that the model can call. List this file under `files` of a `tools/local` module. */
export const NAME = defineTool({
  // The model reads this to decide when to call the tool.
  description: 'Counts the words of a text.',
  // The host checks the arguments against this schema.
  parameters: Type.Object({
    text: Type.String({ description: 'The text to count.' }),
  }),
  // The model reads the result, and the message of an error that you throw.
  async execute({ text }) {
    return { words: text.split(/\s+/).filter((word) => word !== '').length }
  },
})
