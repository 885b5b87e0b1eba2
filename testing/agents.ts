/** Files of a project with the agents that the checks of adapters ask. */
export const AGENTS: Readonly<Record<string, string>> = {
  'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]\n',
  ...Object.fromEntries(['failing', 'tenant', 'held'].map((id) => [`agents/${id}.yml`, withModule(id)])),
  'modules/checked.ts': `import { defineModule, Response, TextMessageHandler, Type } from 'agent-host'
export default defineModule({
  name: 'Checked',
  provides: [TextMessageHandler],
  uses: { response: Response },
  config: Type.Object({ does: Type.String() }),
  create: ({ response }, { does }) => ({
    async handleText(_text, run) {
      if (does === 'failing') throw new Error('hidden reason')
      if (does === 'held') await globalThis.agentHostHeld(run.signal)
      await response.respondText(does === 'tenant' ? run.tenant : does)
    },
  }),
})
`,
}

function withModule(id: string): string {
  return `id: ${id}\nmodules: [{ id: main, module: checked, config: { does: ${id} } }]\n`
}

/** A run of the agent `held`, which goes on when it is released, or fails when it is aborted. */
export interface HeldRun {
  /** Fulfilled when the run has begun. */
  readonly begun: Promise<void>
  /** Fulfilled when the run is aborted. */
  readonly aborted: Promise<void>
  release(): void
}

/** Prepares for the next run of the agent `held`: a project's code shares nothing with a test but the process. */
export function holdNextRun(): HeldRun {
  const [begun, aborted, released] = [makeSignal(), makeSignal(), makeSignal()]
  Object.assign(globalThis, {
    agentHostHeld(signal: AbortSignal): Promise<void> {
      begun.resolve()
      signal.addEventListener('abort', () => aborted.resolve())
      return Promise.race([released.promise, aborted.promise.then(() => signal.throwIfAborted())])
    },
  })
  return { begun: begun.promise, aborted: aborted.promise, release: released.resolve }
}

function makeSignal(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
