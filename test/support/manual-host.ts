import type { AgentHost, RunResult } from 'agent-host'

/** Creates a host whose runs do what the test tells them. */
export function makeManualHost() {
  const runs: ManualRun[] = []
  const host = {
    start: (_name: string, turn: { onEvent: (part: object) => void }) => {
      const run = new ManualRun(turn.onEvent)
      runs.push(run)
      return run
    },
  }
  return { host: host as unknown as AgentHost, runs }
}

export class ManualRun {
  readonly id = 'run'
  readonly result: Promise<RunResult>
  isAborted = false
  #said = ''
  readonly #onEvent: (part: object) => void
  #resolve: (result: RunResult) => void = () => {}

  constructor(onEvent: (part: object) => void) {
    this.#onEvent = onEvent
    this.result = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  say(text: string): void {
    this.#said += text
    this.#onEvent({ type: 'text', text })
  }

  complete(): void {
    this.#resolve({
      usage: {},
      pending: [],
      trail: [{ role: 'assistant', content: this.#said }],
    } as unknown as RunResult)
  }

  abort(): void {
    this.isAborted = true
  }
}
