import { defineTool, Type } from 'agent-host'

export const currentTime = defineTool({
  description: 'Tells the current date and time, anywhere in the world.',
  parameters: Type.Object({
    timezone: Type.Optional(
      Type.String({
        description: 'IANA name of the time zone, such as Asia/Tokyo. Left out: the time zone of this machine.',
      }),
    ),
  }),
  execute({ timezone }) {
    return new Date().toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'long', timeZone: timezone })
  },
})
