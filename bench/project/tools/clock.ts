import { defineTool, Type } from 'agent-host'

export const clock = defineTool({
  description: 'Time in a city',
  parameters: Type.Object({ city: Type.String() }),
  execute: ({ city }) => `12:00 in ${city}`,
})

export const pay = defineTool({
  description: 'Pays a bill',
  parameters: Type.Object({ euros: Type.Number() }),
  execute: ({ euros }) => `Paid ${euros}`,
})
