import { HostError, type OpenedProject, openProject, ToolProvider } from 'agent-host'
import { SHOP_FILES } from '../shop.ts'
import { makeProject, type TempProject } from '../temp-project.ts'

const ECHO = 'id: echo\nmodules: [{ id: m, module: echo }]'
const ID = '01a21974-19c8-7000-b095-5a1c83000000'
const CALL = { id: 'c', name: 'pay', arguments: { amount: 1 } }
const PENDING = { callId: 'c', kind: 'approval', name: 'pay', arguments: { amount: 1 } }
const APPROVE = { callId: 'c', kind: 'approval', decision: 'approve' }
const MESSAGES = [
  { role: 'assistant', content: '', reasoning: [{ text: 'Hm.' }], toolCalls: [CALL] },
  { role: 'tool', content: 'paid', toolCallId: 'c', isError: false },
  { role: 'user', content: 'hi', attachments: [{ mediaType: 'image/png', data: new Uint8Array(3) }] },
]
const TEXTS = [{ role: 'user', content: 'hi' }]
const STORED = {
  instructions: 'x',
  user: 'x',
  metadata: { a: 1 },
  traceparent: 'x',
  input: { a: 1 },
  requestOptions: { temperature: 1 },
  maxToolCalls: 1,
  clientTools: [{ name: 'look', description: '', parameters: { type: 'object' } }],
  variant: [{ module: 'm', path: ['prefix'], value: 'x' }],
}
/** Fields that requests have inside alone: beside those of a program they have no effect. */
const INNER = { id: 'x', key: 'x', named: { head: 'x' }, claim: { changes: [['x', '1']], equal: [] }, isOnce: true }
const REQUEST = { agent: 'echo', messages: MESSAGES, data: { a: 1 }, ...STORED, ...INNER }
const ONCE = { hash: 'x', body: 'x', atMs: 1, keptMs: 1 }
const HERE = { signal: new AbortController().signal, onEvent: () => {}, overrides: {} }
const TURN = { ...STORED, runId: ID, tenant: '', background: false, isTrailLost: false, onQuestion: async () => 1 }
const RESULT = { runId: ID, text: '', usage: {}, pending: [PENDING], trail: TEXTS }
const REGISTER = { file: 'a.yml', signal: HERE.signal }

type Surface = Pick<OpenedProject, 'host' | 'runs' | 'run' | 'resume' | 'onWaiting'>
export type Method = readonly [
  name: string,
  args: readonly unknown[],
  call: (surface: Surface, ...args: never[]) => unknown,
]

/** The methods that take data, each with arguments of every field: none of them pays, and none answers a call that waits. */
const METHODS: readonly Method[] = [
  [
    'host.run',
    ['echo', MESSAGES, { ...TURN, ...HERE }],
    ({ host }, ...args: Parameters<typeof host.run>) => host.run(...args),
  ],
  [
    'host.start',
    ['echo', { messages: TEXTS, ...TURN, answersTo: ID, pending: [], answers: [APPROVE] }],
    ({ host }, ...args: Parameters<typeof host.start>) => host.start(...args).result,
  ],
  [
    'host.check',
    ['echo', { messages: TEXTS, ...TURN }],
    ({ host }, ...args: Parameters<typeof host.check>) => host.check(...args),
  ],
  [
    'host.reserve',
    ['echo', false],
    ({ host }, ...args: Parameters<typeof host.reserve>) => host.reserve(...args).release(),
  ],
  [
    'host.resume',
    [
      { runId: ID, agent: 'shop', pending: [PENDING], trail: MESSAGES, options: STORED },
      [{ ...APPROVE, decision: 'rejected' }],
      HERE,
    ],
    ({ host }, ...args: Parameters<typeof host.resume>) => host.resume(...args),
  ],
  [
    'host.callModule',
    [
      'shop',
      {
        moduleId: 'tools',
        protocol: ToolProvider,
        act: () => {},
        user: 'x',
        tenant: '',
        metadata: {},
        onQuestion: async () => 1,
      },
    ],
    ({ host }, ...args: Parameters<typeof host.callModule>) => host.callModule(...args),
  ],
  ['host.register', [ECHO, REGISTER], ({ host }, ...args: Parameters<typeof host.register>) => host.register(...args)],
  [
    'host.replace',
    ['gone', ECHO, REGISTER],
    ({ host }, ...args: Parameters<typeof host.replace>) => host.replace(...args),
  ],
  ['host.unregister', ['gone'], ({ host }, id: string) => host.unregister(id)],
  [
    'host.openVariant',
    ['echo', STORED.variant],
    ({ host }, ...args: Parameters<typeof host.openVariant>) => host.openVariant(...args),
  ],
  ['host.resolve', ['echo'], ({ host }, name: string) => host.resolve(name)],
  ['host.has', ['echo'], ({ host }, name: string) => host.has(name)],
  ['host.get', ['echo'], ({ host }, id: string) => host.get(id)],
  ['host.describe', ['echo'], ({ host }, id: string) => host.describe(id)],
  ['host.abort', [ID, 'x'], ({ host }, ...args: Parameters<typeof host.abort>) => host.abort(...args)],
  ['host.agentsUsing', [new Set(['x'])], ({ host }, files: Set<string>) => host.agentsUsing(files)],
  ['host.forgetFiles', [new Set(['x'])], ({ host }, files: Set<string>) => host.forgetFiles(files)],
  ['host.onEvent', [() => {}, ''], ({ host }, ...args: Parameters<typeof host.onEvent>) => host.onEvent(...args)()],
  ['host.onChange', [() => {}], ({ host }, listener: () => void) => host.onChange(listener)()],
  ['host.onRunEnd', [() => {}], ({ host }, listener: () => void) => host.onRunEnd(listener)()],
  ['host.onWaiting', [() => {}], ({ host }, listener: () => void) => host.onWaiting(listener)()],
  [
    'project.run',
    ['echo', MESSAGES, { ...TURN, ...HERE }],
    (project, ...args: Parameters<typeof project.run>) => project.run(...args),
  ],
  [
    'project.resume',
    [ID, [APPROVE], HERE],
    (project, ...args: Parameters<typeof project.resume>) => project.resume(...args),
  ],
  ['project.onWaiting', [() => {}], (project, listener: () => void) => project.onWaiting(listener)()],
  ['runs.of', [''], ({ runs }, tenant: string) => runs.of(tenant).find('x')],
  ['runs.start', [{ ...REQUEST, previousId: `resp_${ID}` }], ({ runs }, request: never) => runs.of('').start(request)],
  [
    'runs.begin',
    [{ ...REQUEST, idempotency: ONCE, answers: [APPROVE], by: 'x' }, HERE],
    async ({ runs }, ...args: [never, object]) => (await runs.of('').begin(...args)).result,
  ],
  [
    'runs.keep',
    [{ agent: 'echo', messages: TEXTS, result: RESULT, id: `resp_${ID}`, ttlSeconds: 5, data: { a: 1 }, ...STORED }],
    ({ runs }, waiting: never) => runs.of('').keep(waiting),
  ],
  ['runs.find', [ID], ({ runs }, id: string) => runs.of('').find(id)],
  ['runs.cancel', [ID], ({ runs }, id: string) => runs.of('').cancel(id)],
  ['runs.outcome', [ID, HERE.signal], ({ runs }, ...args: [string, AbortSignal]) => runs.of('').outcome(...args)],
  [
    'runs.follow',
    [ID, { after: 0, signal: HERE.signal }],
    ({ runs }, ...args: [string, object]) => drain(runs.of('').follow(...args)),
  ],
  [
    'runs.answer',
    [new Map([['mcpr_x', { kind: 'approval', decision: 'approve' }]]), 'me'],
    ({ runs }, ...args: [never, string]) => runs.of('').answer(...args),
  ],
  [
    'runs.resume',
    [`resp_${ID}`, [APPROVE], 'me', HERE],
    ({ runs }, ...args: [string, never, string]) => runs.of('').resume(...args),
  ],
  ['runs.listWaiting', [{ limit: 5, after: 'x' }], ({ runs }, range: object) => runs.of('').listWaiting(range)],
]

const CIRCULAR: Record<string, unknown> = {}
CIRCULAR.self = CIRCULAR

/** Throws for every look. Functions leave it to its owner. */
export const { proxy: UNREADABLE, revoke } = Proxy.revocable({}, {})
revoke()

/** Values that are hardly ever right. */
export const ODD_VALUES: readonly unknown[] = [
  ...[undefined, null, true, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 10n, Symbol('odd'), 'x', ''],
  ...[
    [],
    [null],
    {},
    Object.create(null),
    Object.create(APPROVE),
    new Map(),
    new Map([[1, 2]]),
    new Date(),
    { toString: null, valueOf: null },
    () => {},
    CIRCULAR,
    UNREADABLE,
    Object.freeze({ a: 1 }),
    'x'.repeat(50_000),
  ],
]

const SETTLED_MS = 5000

/**
 * Calls every method with each of the values in the place of every argument, and of every part of it.
 *
 * @returns calls that failed as no caller can understand, by what they failed with; and what was paid
 */
export async function findSurfaceFaults(
  values: readonly unknown[],
  methods: readonly Method[] = METHODS,
): Promise<Record<string, string[]>> {
  const files = await makeProject({ ...SHOP_FILES, 'agents/echo.yml': ECHO })
  await using project = await openProject({ projectDir: files.dir, logLevel: 'silent', drainTimeout: 0 })
  const { runId } = await project.run('shop', 'please')
  const faults: Record<string, string[]> = {}
  for (const [name, args, call] of methods) {
    for (const path of pathsOf(args)) {
      for (const value of values) {
        const fault = await findFault(() => call(project, ...(withValue(args, path, value) as never[])))
        const key = `${name} ${path.join('.')}: ${fault}`
        if (fault !== undefined) faults[key] = [...(faults[key] ?? []), typeof value]
      }
    }
  }
  return { ...faults, ...(await findPaid(files, project, runId)) }
}

async function findPaid(files: TempProject, project: OpenedProject, runId: string): Promise<Record<string, string[]>> {
  const paid: [string, string[]][] = files.exists('paid.txt') ? [['paid', [await files.read('paid.txt')]]] : []
  const { open = [] } = (await project.runs.of('').find(`resp_${runId}`)) ?? {}
  return Object.fromEntries(open.length === 1 ? paid : [...paid, ['waits no more', [runId]]])
}

async function findFault(work: () => unknown): Promise<string | undefined> {
  const settled = (async () => void (await work()))().then(
    () => undefined,
    (error) => (isTold(error) ? undefined : String(error)),
  )
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, SETTLED_MS, 'hangs')
  })
  return Promise.race([settled, late]).finally(() => clearTimeout(timer))
}

function isTold(error: unknown): boolean {
  // Of a file, as documented.
  if (
    error instanceof Error &&
    ('code' in error
      ? /^E[A-Z]+$/.test(String(error.code))
      : /leads out of|has more than \d+ bytes/.test(error.message))
  )
    return true
  // Keys and values of a module are refused with a TypeError, as documented.
  if (error instanceof TypeError) return /module's storage|storage of a module/.test(error.message)
  return error instanceof HostError && !['STORE_UNAVAILABLE', 'AGENT_FAILED'].includes(error.code)
}

async function drain(events: AsyncIterable<unknown>): Promise<void> {
  for await (const event of events) void event
}

type Path = readonly (string | number)[]

/** Paths of all arguments, and of the parts of those that are lists, objects and maps. */
function pathsOf(value: unknown): Path[] {
  return entriesOf(value).flatMap(([key, part]) => [[key], ...pathsOf(part).map((path) => [key, ...path])])
}

function entriesOf(value: unknown): [string | number, unknown][] {
  if (value instanceof Map) return [...value]
  if (Array.isArray(value)) return value.map((part, index) => [index, part])
  const isPlain = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  return isPlain && !Object.isFrozen(value) ? Object.entries(value) : []
}

function withValue(whole: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value
  const entries = entriesOf(whole).map(
    ([name, part]) => [name, name === key ? withValue(part, rest, value) : part] as const,
  )
  if (whole instanceof Map) return new Map(entries)
  return Array.isArray(whole) ? entries.map(([, part]) => part) : Object.fromEntries(entries)
}
