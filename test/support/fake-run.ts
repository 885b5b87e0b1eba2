import type { Message, ModuleContext, Run, Usage } from 'agent-host'

/** A run for calling a module by hand, and what the module did with it. */
export interface FakeRun extends Run {
  readonly usage: Partial<Usage>[]
  readonly incomplete: string[]
  readonly progress: string[]
  abort(reason?: unknown): void
}

export function makeRun(facts: Partial<Run> = {}): FakeRun {
  const controller = new AbortController()
  const usage: Partial<Usage>[] = []
  const incomplete: string[] = []
  const progress: string[] = []
  const run: FakeRun = {
    id: 'run-1',
    agentId: 'test',
    entryPoint: '__entry__',
    signal: controller.signal,
    instructions: undefined,
    user: undefined,
    tenant: '',
    metadata: {},
    input: undefined,
    requestOptions: {},
    clientTools: [],
    toolCallId: undefined,
    with: (overrides) => ({ ...run, ...overrides }),
    throwIfStopped: () => controller.signal.throwIfAborted(),
    checkInTime: (check) => check(),
    ask: () => Promise.reject(new Error('Nobody answers.')),
    callAgent: () => Promise.reject(new Error('There are no other agents.')),
    addUsage: (added) => {
      usage.push(added)
    },
    markIncomplete: (reason) => {
      incomplete.push(reason)
    },
    reportProgress: (message) => {
      progress.push(message)
    },
    ...facts,
    usage,
    incomplete,
    progress,
    abort: (reason) => controller.abort(reason),
  }
  return run
}

/** A context whose log is kept, and whose files are loaded by the running test. */
export function makeContext(facts: Partial<ModuleContext> = {}): ModuleContext & { readonly lines: string[] } {
  const lines: string[] = []
  const log = (level: string) => (message: string) => {
    lines.push(`${level} ${message}`)
  }
  return {
    agentId: 'test',
    moduleId: 'module',
    projectDir: process.cwd(),
    hasSharedStore: false,
    environment: {},
    callbackUrl: 'http://127.0.0.1:9001/oauth/callback',
    seal: async (text) => `sealed ${text}`,
    unseal: async (sealed) => sealed.replace(/^sealed /, ''),
    log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    importFile: async (path) => import(path),
    watchFile: () => {},
    providersOf: () => [],
    providersFor: () => [],
    callsAgents: () => () => [],
    reportMissing: () => {},
    ...facts,
    lines,
  }
}

export const says = (content: string): Message => ({ role: 'user', content })
