import { join } from 'node:path'
import { expect } from 'chai'
import { openStore } from '../../src/store/open-store.ts'
import { walkStore } from '../../src/store/walk-store.ts'
import { askApprovals } from './ask-approvals.ts'
import { eventually } from './eventually.ts'
import { type Json, openStream, RESPONSES_PROJECT, textOf } from './responses.ts'
import { HEADERS, type ResponsesProcess, startResponses } from './responses-process.ts'
import { runCli } from './run-cli.ts'
import { SHOP_MODULES, shopAgent } from './shop.ts'
import { makeProject } from './temp-project.ts'

const RESPONSES = 200

/** Moves a project with responses of all sorts from SQLite to another store, and expects every byte there, and the same answers. */
export async function proveCopy(store: string): Promise<void> {
  const { dir } = await makeProject({
    ...RESPONSES_PROJECT,
    ...SHOP_MODULES,
    'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }'),
  })
  const before = await startResponses(dir)
  const ids = await fill(before)
  const seen = await describe(before, ids)
  expect(await before.stop()).to.equal(0)
  const { stdout } = await runCli(['store', 'copy', 'sqlite', store], { cwd: dir })
  const records = await readAll('sqlite', dir)
  expect(stdout).to.equal(`Copied ${records.length} records.\n`)
  expect(await readAll(store, dir)).to.deep.equal(records)
  const after = await startResponses(dir, ['--store', store])
  expect(await describe(after, ids)).to.deep.equal(seen)
  await expectGoesOn(after, ids)
}

/** Chains, streams, calls with an approval that waits, and texts that are not ASCII. */
async function fill({ ask, url }: ResponsesProcess): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < RESPONSES; n++) {
    const previous = n % 4 === 0 ? {} : { previous_response_id: ids.at(-1) }
    if (n % 10 === 9) {
      const stream = await openStream(url, { model: 'talk', input: `say ü😀"\u2028 ${n}`, stream: true }, HEADERS)
      await stream.done
      ids.push(stream.events()[0].response.id)
    } else {
      const body =
        n % 10 === 8 ? { model: 'shop', input: 'please' } : { model: 'talk', input: `say ü😀 ${n}`, ...previous }
      ids.push((await ask('', body)).json.id)
    }
  }
  return ids
}

/** Everything that a client can read. */
async function describe(server: ResponsesProcess, ids: readonly string[]): Promise<Json> {
  const all: Json[] = [await askApprovals(server, '?limit=100')]
  for (const id of ids) {
    all.push((await server.ask(`/${id}`)).json, (await server.ask(`/${id}/input_items`)).json)
    const stream = await openStream(`${server.url}/${id}?stream=true`, undefined, HEADERS)
    await stream.done
    all.push(stream.events())
  }
  return all
}

async function expectGoesOn(server: ResponsesProcess, ids: readonly string[]): Promise<void> {
  const { data } = await askApprovals(server, '?limit=1')
  const { continued_by: next } = await askApprovals(server, `/${data[0].id}`, { decision: 'approve' })
  await eventually(async () => expect(textOf((await server.ask(`/${next}`)).json)).to.equal('Results: pay 40'))
  const { status } = await server.ask('', { model: 'talk', input: 'history', previous_response_id: ids[1] })
  expect(status).to.equal(200)
}

async function readAll(store: string, dir: string): Promise<(readonly [string, string])[]> {
  const records = await openStore({ store, dir: join(dir, 'responses'), projectDir: process.cwd() })
  const all: (readonly [string, string])[] = []
  for await (const page of walkStore(records)) all.push(...page)
  await records.close()
  return all
}
