import { defineModule, ToolProvider } from 'agent-host'

const parameters = { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] }

export default defineModule({
  name: 'Calendar',
  description: 'Meetings of a person who has signed in.',
  provides: [ToolProvider],
  create: () => ({
    listTools: () => [{ name: 'list_meetings', description: 'Lists the meetings of a day.', parameters }],
    async executeTool(_name, _args, run) {
      const url = 'https://calendar.example/authorize?state=1'
      await run.ask({ message: 'Sign in to your calendar', schema: { type: 'string' }, url })
      return { text: 'No meetings.' }
    },
  }),
})
