/** Files of a project with the agents that the checks of adapters ask. */
export const AGENTS: Readonly<Record<string, string>> = {
  'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]\n',
  'agents/failing.yml': 'id: failing\nmodules: [{ id: main, module: failing }]\n',
  'modules/failing.ts': `import { defineModule, TextMessageHandler } from 'agent-host'
export default defineModule({
  name: 'Failing',
  provides: [TextMessageHandler],
  create: () => ({
    async handleText() {
      throw new Error('hidden reason')
    },
  }),
})
`,
}
