import { defineModule, Response, TextMessageHandler, Type } from 'agent-host'

/**
 * A module is a part of an agent: it provides protocols to others, and uses those of others. In an agent file it is named
 * by its path: `module: NAME`.
 */
export default defineModule({
  name: 'CLASS',
  description: 'Repeats the message, after a greeting.',
  // What others may use it for. TextMessageHandler makes it one that answers; LLM, ToolProvider, Memory ... are others.
  provides: [TextMessageHandler],
  // What it needs: the host finds a provider for each. many(...) takes every provider, optional(...) none or one.
  uses: { response: Response },
  // What can be set under `config` in an agent file; checked there, with these defaults.
  config: Type.Object({
    greeting: Type.String({ default: 'You said: ', description: 'What stands before every answer.' }),
  }),
  create: ({ response }, { greeting }) => ({
    async handleText(text, run) {
      // Hand run.signal to whatever you wait for: it is aborted when the client leaves.
      run.signal.throwIfAborted()
      // Each call streams on at once.
      await response.respondText(greeting + text)
    },
  }),
})
