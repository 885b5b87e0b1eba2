import { join } from 'node:path'
import Database from 'libsql'
import { ChildServer } from './child-server.ts'
import { makeProject } from './temp-project.ts'

const path = '/compat/responses'
const TURNS = 1000
const RESPONSES = 10_000

/** Responses after a restart, in long conversations and long inputs. */
export async function benchResponses(): Promise<void> {
  console.log('\n## Responses\n')
  await benchRestart()
  await benchConversation()
  await benchInputItems()
}

async function benchRestart(): Promise<void> {
  const project = makeProject()
  const first = await startOwn(project)
  const ask = () => post(first, { model: 'echo', input: 'What is the time in Tokyo?' })
  for (let stored = 0; stored < RESPONSES; stored += 100) await Promise.all(Array.from({ length: 100 }, ask))
  const kilobytes = sizeOf(project) / RESPONSES / 1024
  await first.stop()
  const second = await startOwn(project)
  console.log(`Killed and started again with ${RESPONSES} responses (${kilobytes.toFixed(1)} KB each):`)
  console.log(`  ready in ${second.readyMs.toFixed(0)} ms (goal 2000)\n`)
  await second.stop()
}

async function benchConversation(): Promise<void> {
  const project = makeProject()
  const server = await startOwn(project)
  const times: number[] = []
  let previous_response_id: string | undefined
  for (let turn = 0; turn < TURNS; turn++) {
    const startedMs = performance.now()
    const { id } = await post(server, { model: 'echo', input: `This is turn ${turn} of many.`, previous_response_id })
    times.push(performance.now() - startedMs)
    previous_response_id = id
  }
  const mean = (from: number) => times.slice(from, from + 50).reduce((sum, time) => sum + time, 0) / 50
  const kilobytes = sizeOf(project) / TURNS / 1024
  console.log(`A conversation of ${TURNS} turns: ${kilobytes.toFixed(1)} KB a turn in the store`)
  console.log(`  a turn takes ${mean(50).toFixed(1)} ms at turn 75, ${mean(TURNS - 50).toFixed(1)} ms at turn 975\n`)
  await server.stop()
}

async function benchInputItems(): Promise<void> {
  const server = await startOwn(makeProject())
  console.log('A page of 20 input items out of:')
  for (const count of [10, 100, 1000, 10_000]) {
    const input = Array.from({ length: count }, (_, n) => ({ role: 'user', content: `This is item ${n} of many.` }))
    const { id } = await post(server, { model: 'echo', input })
    const url = `${server.url}${path}/${id}/input_items?order=asc`
    const page = async (after: string) => (await (await fetch(url + after)).json()) as { data: { id: string }[] }
    const last = (await page('&limit=10')).data.at(-1)?.id
    const times: number[] = []
    for (let round = 0; round < 300; round++) {
      const startedMs = performance.now()
      await page(count > 10 ? `&after=${last}` : '')
      times.push(performance.now() - startedMs)
    }
    console.log(`  ${String(count).padStart(6)}: ${times.sort((a, b) => a - b)[150]?.toFixed(2)} ms`)
  }
  await server.stop()
}

function startOwn(project: string): Promise<ChildServer> {
  return ChildServer.start('agent-host', [project, 'ResponsesCompatApiAdapter'])
}

async function post({ url }: ChildServer, body: object): Promise<{ id: string }> {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!reply.ok) throw new Error(`${reply.status}: ${await reply.text()}`)
  return (await reply.json()) as { id: string }
}

/** Bytes of all that is stored. */
function sizeOf(project: string): number {
  const db = new Database(join(project, 'responses', 'responses.db'))
  const { bytes } = db.prepare('SELECT sum(length(key) + length(value)) AS bytes FROM keyv').get() as { bytes: number }
  db.close()
  return bytes
}
