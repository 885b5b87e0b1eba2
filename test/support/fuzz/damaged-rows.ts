import { setTimeout as wait } from 'node:timers/promises'
import { buildServer } from '../../../src/server/server.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Entry } from '../../../src/store/record-store.ts'
import { eventually } from '../eventually.ts'
import { MCP_PROJECT } from '../mcp.ts'
import { type Json, RESPONSES_PROJECT } from '../responses.ts'
import { SHOP_FILES } from '../shop.ts'
import { makeProject, type TempProject } from '../temp-project.ts'

const NEWER = '{"version":99}'
/** Half of a row, a value of another type, and a row of a newer version. */
const DAMAGES = ['{"half', 'null', NEWER]
const MAX_MS = 10_000
const NO_ANSWER = 'no answer'

type Ask = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object, headers?: Headers) => Promise<Json>
type Headers = Readonly<Record<string, string>>
/** What was stored, by short names: ids of responses and conversations. */
type Names = Readonly<Record<string, string>>

/**
 * Damages each row of a store in turn, lets a new server begin with it, and returns what went wrong: an operation on what the row has
 * nothing to do with that ends otherwise than with the whole store, an answer of 500, one that does not come, a background run that
 * never ends.
 */
export async function findDamageFaults(): Promise<string[]> {
  const project = await makeProject({ ...RESPONSES_PROJECT, ...SHOP_FILES, ...MCP_PROJECT })
  const { names, entries } = await fill(project)
  const whole = await carryOut(project, names, entries)
  const faults: string[] = []
  for (const [key] of entries.filter(isWorthIt)) {
    for (const damage of DAMAGES) {
      const seen = await carryOut(project, names, [...entries, [key, damage]])
      const changed = Object.keys(whole).filter((name) => seen[name] !== whole[name])
      const isFault = (name: string) => isRefusal(seen[name], damage) || !concerns(key, name, names)
      for (const name of changed.filter(isFault))
        faults.push(`${key} = ${damage}: ${name}: ${seen[name]}, was ${whole[name]}`)
    }
  }
  return faults
}

/** Of the steps of a run in progress the first ones are enough. */
function isWorthIt([key]: Entry): boolean {
  // Without a format that it knows, a server does not start.
  return key !== '~format' && (!key.startsWith('steps:') || key.endsWith(':000000000'))
}

/** An answer that no damage excuses. Only a run of a newer version waits, for a server of that version. */
function isRefusal(answer = '', damage: string): boolean {
  return answer.startsWith('500') || (answer === NO_ANSWER && damage !== NEWER)
}

/** Operations that may end otherwise when a row of one of these is damaged, beside those that name it. */
const CONCERNED: Readonly<Record<string, readonly string[]>> = {
  first: ['items', 'go on', 'go on in conversation', 'get branch runs'],
  second: ['items', 'go on in conversation'],
  branch: ['go on'],
  talk: ['items', 'go on in conversation'],
  both: ['approve both', 'reject both'],
  bothTalk: ['approve both', 'reject both'],
  repeated: ['repeat'],
}

/** Whether an operation may end otherwise for a damaged row: those on the run or conversation that it belongs to. */
function concerns(key: string, operation: string, names: Names): boolean {
  if (/^(idempotency|expires):/.test(key)) return operation === 'repeat'
  const owners = Object.keys(names).filter((name) => key.includes((names[name] as string).replace(/^\w+_/, '')))
  // Lists leave it out.
  return (
    operation === 'approvals' ||
    owners.some((owner) => operation.endsWith(` ${owner}`) || CONCERNED[owner]?.includes(operation))
  )
}

async function open(project: TempProject, responsesDir: string) {
  const server = await buildServer({
    projectDir: project.dir,
    responsesDir,
    port: 0,
    adapters: ['ResponsesCompatApiAdapter', 'McpApiAdapter'],
    logLevel: 'silent',
    drainTimeout: 0,
    maxBackgroundRuns: 1,
  })
  await server.listen()
  const ask: Ask = async (method, url, payload, headers = {}) => {
    const reply = await server.app.inject({ method, url, headers, ...(payload && { payload }) })
    return { status: reply.statusCode, body: reply.json() as Json }
  }
  return { server, ask }
}

const openRecords = (project: TempProject, dir: string) => openStore({ store: 'sqlite', dir, projectDir: project.dir })

/** Stores something of every kind, and returns its rows as they are while a background run is in progress and others wait. */
async function fill(project: TempProject): Promise<{ names: Names; entries: Entry[] }> {
  const dir = project.path('filled')
  const { server, ask } = await open(project, dir)
  const create = async (model: string, input: string, more: object = {}, headers: Headers = {}) =>
    (await ask('POST', '/compat/responses', { model, input, ...more }, headers)).body.id as string
  const converse = async () => (await ask('POST', '/compat/conversations', {})).body.id as string
  const [talk, bothTalk] = [await converse(), await converse()]
  const first = await create('talk', 'say one', { conversation: talk })
  const names = {
    talk,
    bothTalk,
    first,
    second: await create('talk', 'say two', { conversation: talk }),
    branch: await create('talk', 'say three', { previous_response_id: first }),
    paid: await create('shop', 'go'),
    unpaid: await create('shop', 'go'),
    both: await create('both', 'go', { conversation: bothTalk }),
    repeated: await create('talk', 'say it', {}, { 'idempotency-key': 'key' }),
    running: await create('talk', 'count 1000', { background: true }),
    waits: await create('talk', 'say queued', { background: true }),
    'waits for approval': await create('shop', 'go', { background: true }),
    'branch runs': await create('talk', 'history', { background: true, previous_response_id: first }),
  }
  await call(ask, 'shop', 'go')
  const records = await openRecords(project, dir)
  await eventually(async () => {
    if ((await records.list({ prefix: 'steps:', limit: 3 })).length < 3) throw new Error('It has not begun.')
  })
  const entries = await records.entries({ prefix: '', limit: 10_000 })
  await records.close()
  await server.close()
  return { names, entries }
}

function call(ask: Ask, name: string, message: string): Promise<Json> {
  const params = { name, arguments: { message } }
  return ask('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
}

let stores = 0

/** Operations on everything, on a new store with these rows; returns what each was answered, without ids. */
async function carryOut(
  project: TempProject,
  names: Names,
  entries: readonly Entry[],
): Promise<Record<string, string>> {
  const dir = project.path(`store-${stores++}`)
  const records = await openRecords(project, dir)
  for (const entry of entries) await records.commit([entry])
  await records.close()
  const { server, ask } = await open(project, dir)
  const seen: Record<string, string> = {}
  const see = async (name: string, asked: Promise<Json>, read: (body: Json) => unknown = () => '') => {
    const late = wait(MAX_MS, undefined, { ref: false }).then(() => undefined)
    const answer = await Promise.race([asked, late])
    seen[name] = answer ? `${answer.status} ${JSON.stringify(read(answer.body))}` : NO_ANSWER
  }
  const approval = (name: string, index: number) => `/compat/approvals/mcpr_${names[name]?.slice(5)}-00${index}`
  const respond = (body: object, headers?: Headers) =>
    ask('POST', '/compat/responses', { model: 'talk', ...body }, headers)
  const saying = ({ status, output }: Json) => [
    status,
    output?.map((item: Json) => item.content?.[0]?.text ?? item.type),
  ]

  await see('items', ask('GET', `/compat/conversations/${names.talk}/items`), ({ data }) => data?.length)
  for (const name of [
    'first',
    'second',
    'branch',
    'unpaid',
    'repeated',
    'running',
    'waits',
    'waits for approval',
    'branch runs',
  ]) {
    await see(`get ${name}`, whenEnded(ask, names[name] as string), saying)
  }
  await see('approvals', ask('GET', '/compat/approvals?limit=100'), ({ data }) => data?.length)
  await see('approve paid', ask('POST', approval('paid', 0), { decision: 'approve' }), ({ status }) => status)
  await see('approve both', ask('POST', approval('both', 0), { decision: 'approve' }), ({ status }) => status)
  await see('reject both', ask('POST', approval('both', 1), { decision: 'reject' }), ({ status }) => status)
  await see('go on', respond({ input: 'history', previous_response_id: names.branch }), saying)
  await see('go on in conversation', respond({ input: 'history', conversation: names.talk }), saying)
  await see('repeat', respond({ input: 'say it' }, { 'idempotency-key': 'key' }), saying)
  await see('new', respond({ input: 'say new' }), saying)
  await see('new in the background', respond({ input: 'say new', background: true }), ({ status }) => status)
  await see('call over MCP', call(ask, 'act', 'say hi'), ({ result }) => result?.content?.[0]?.text)
  for (const [name, id] of Object.entries(names)) {
    await see(`delete ${name}`, ask('DELETE', `/compat/${id.startsWith('conv') ? 'conversations' : 'responses'}/${id}`))
  }
  await server.close()
  await project.remove(`store-${stores - 1}`)
  return seen
}

/** The record of a response that has ended, or cannot be read. */
async function whenEnded(ask: Ask, id: string): Promise<Json> {
  for (let answer: Json; ; await wait(20)) {
    answer = await ask('GET', `/compat/responses/${id}`)
    if (answer.body.status !== 'in_progress') return answer
  }
}
