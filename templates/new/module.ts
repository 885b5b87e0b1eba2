import { defineModule, Response, TextMessageHandler, Type } from 'agent-host'

/**
 * A module is a part of an agent: it provides protocols and uses those of other modules. An agent file names it by its
 * path: `module: NAME`.
 */
export default defineModule({
  name: 'CLASS',
  description: 'Repeats the message, after a greeting.',
  // Protocols for other modules. TextMessageHandler answers messages; others are LLM, ToolProvider, Memory ...
  provides: [TextMessageHandler],
  // Dependencies: the host finds a provider for each. many(...) takes every provider, optional(...) none or one.
  uses: { response: Response },
  // Fields of `config` in an agent file, with defaults. The host checks them.
  config: Type.Object({
    greeting: Type.String({ default: 'You said: ', description: 'Start of every answer.' }),
  }),
  create: ({ response }, { greeting }) => ({
    async handleText(text, run) {
      // Pass run.signal to everything you wait for: it aborts when the client disconnects.
      run.signal.throwIfAborted()
      // Each call streams to the client at once.
      await response.respondText(greeting + text)
    },
  }),
})
