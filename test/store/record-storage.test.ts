import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentHost, openProject, type StorageSource } from 'agent-host'
import { expect } from 'chai'
import persistent from '../../modules/conversation/persistent.ts'
import { LazyStore } from '../../src/store/lazy-store.ts'
import { memoryStorage } from '../../src/store/memory-storage.ts'
import { openStore } from '../../src/store/open-store.ts'
import { recordStorage } from '../../src/store/record-storage.ts'
import { describeConversationHistory } from '../suites/conversation-history-suite.ts'
import { describeMemory } from '../suites/memory-suite.ts'
import { describeStorage } from '../suites/storage-suite.ts'
import { describeVectorIndex } from '../suites/vector-index-suite.ts'
import { describeWith } from '../support/describe-with.ts'
import { makeContext, makeRun, says } from '../support/fake-run.ts'
import { openSharedIndex, openSharedMemory } from '../support/memory.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'
import { makeProject } from '../support/temp-project.ts'

const KINDS = [
  { name: 'SQLite', isThere: true, startServer: undefined },
  { name: 'PostgreSQL', isThere: hasPostgres(), startServer: startPostgres },
  { name: 'Redis', isThere: hasRedis(), startServer: startRedis },
]
const run = makeRun()
const warn = () => {}

for (const { name, isThere, startServer } of KINDS) {
  describeWith(name, isThere, `storage of modules in ${name}`, () => {
    let server: StoreServer | undefined
    let dir: string
    let stores: readonly [LazyStore, LazyStore]
    let areas = 0

    before(async () => {
      dir = mkdtempSync(join(tmpdir(), 'agent-host-test-storage-'))
      server = await startServer?.()
      const open = () => openStore({ store: server?.url ?? 'sqlite', dir, projectDir: process.cwd() })
      stores = [new LazyStore(open), new LazyStore(open)]
    })

    after(async () => {
      for (const store of stores) await store.close()
      await server?.remove()
      rmSync(dir, { recursive: true, force: true })
    })

    /** Storage of an agent that has nothing yet, as two servers have it. */
    function openSources(): [StorageSource, StorageSource] {
      const agentId = `agent-${++areas}`
      const sources = stores.map((store): StorageSource => {
        const source = recordStorage(() => store.open(), true, warn)
        return { isShared: true, storageOf: ({ moduleId }) => source.storageOf({ agentId, moduleId }) }
      })
      return sources as [StorageSource, StorageSource]
    }

    describeStorage(async () => {
      const [one, other] = openSources()
      const owner = { agentId: 'a', moduleId: 'm' }
      return [one.storageOf(owner), other.storageOf(owner)]
    })

    it('keeps modules and agents apart', async () => {
      const source = recordStorage(() => stores[0].open(), true, warn)
      await source.storageOf({ agentId: 'apart', moduleId: 'm' }).set('key', 1)
      for (const owner of [
        { agentId: 'apart', moduleId: 'm2' },
        { agentId: 'apart2', moduleId: 'm' },
      ])
        expect(await source.storageOf(owner).list({ prefix: '', limit: 9 })).to.deep.equal([])
    })

    it('leaves damaged values out of lists, fills their pages up, and says so; reading or adding to one fails', async () => {
      const warnings: string[] = []
      const source = recordStorage(
        () => stores[0].open(),
        true,
        (message) => warnings.push(message),
      )
      const storage = source.storageOf({ agentId: 'damaged', moduleId: 'm' })
      for (const key of ['a', 'b', 'c', 'd']) await storage.set(key, key)
      await storage.append('log', 1)
      const damaged = ['module:damaged/m/b!', 'module:damaged/m/c!', 'module-log:damaged/m/log!']
      await (await stores[0].open()).commit(damaged.map((key) => [key, '{"half']))
      const keys = async (range: { after?: string; order?: 'asc' | 'desc'; limit: number }) =>
        (await storage.list({ prefix: '', ...range })).map(({ key }) => key)
      expect(await keys({ limit: 2 })).to.deep.equal(['a', 'd'])
      expect(await keys({ limit: 9, after: 'a' })).to.deep.equal(['d', 'log/000000000000'])
      expect(await keys({ limit: 2, after: 'log', order: 'desc' })).to.deep.equal(['d', 'a'])
      expect(warnings[0]).to.equal("The stored value 'module:damaged/m/b!' is damaged. It is left out.")
      for (const act of [() => storage.get('b'), () => storage.append('log', 2)]) {
        expect(await act().catch((error: unknown) => error)).to.include({ code: 'RECORD_UNREADABLE' })
      }
    })

    it('keeps tenants apart, in every method, by the run of the call', async () => {
      const [source] = openSources()
      const storage = source.storageOf({ agentId: 'a', moduleId: 'm' })
      const runs = ['', 'acme', 'globex'].map((tenant) => makeRun({ tenant }))
      for (const each of runs) {
        await storage.set('key', each.tenant, each)
        await storage.set('gone', 1, each)
        await storage.delete('gone', each)
        await storage.replace('cas', undefined, each.tenant, each)
      }
      const numbers = await Promise.all(runs.map((each) => storage.append('log', each.tenant, each)))
      expect(numbers).to.deep.equal(Array(3).fill('log/000000000000'))
      for (const each of runs) {
        expect(await storage.get('key', each)).to.equal(each.tenant)
        const found = await storage.list({ prefix: '', limit: 9 }, each)
        expect(found).to.deep.equal([
          { key: 'cas', value: each.tenant },
          { key: 'key', value: each.tenant },
          { key: 'log/000000000000', value: each.tenant },
        ])
      }
    })

    describe('memory/exact-index', () => {
      describeVectorIndex(() => openSharedIndex(openSources()[0]))

      it('has the vectors of each tenant apart, on all servers', async () => {
        const [source, otherSource] = openSources()
        const [one, other] = [await openSharedIndex(source), await openSharedIndex(otherSource)]
        const tenants = ['', 'acme', 'globex']
        const ids = async (index: typeof one, tenant: string) =>
          (await index.search(Float32Array.of(1, 0), 9, makeRun({ tenant }))).map(({ id }) => id)
        for (const tenant of tenants) await one.add(`of ${tenant}`, Float32Array.of(1, 1), makeRun({ tenant }))
        for (const tenant of tenants) expect(await ids(other, tenant)).to.deep.equal([`of ${tenant}`])
        await other.remove('of acme', makeRun({ tenant: 'globex' }))
        expect(await ids(one, 'acme')).to.deep.equal(['of acme'])
      })

      it('picks up texts that another server adds, replaces and deletes', async () => {
        const [source, otherSource] = openSources()
        const [one, other] = [await openSharedIndex(source), await openSharedIndex(otherSource)]
        const found = async (index: typeof one) =>
          (await index.search(Float32Array.of(1, 0), 9, run)).map(({ id }) => id)
        await one.add('a', Float32Array.of(1, 0), run)
        expect(await found(other)).to.deep.equal(['a'])
        await other.add('a', Float32Array.of(0, 1), run)
        await other.add('b', Float32Array.of(1, 0), run)
        expect(await found(one)).to.deep.equal(['b', 'a'])
        await one.remove('b', run)
        expect(await found(other)).to.deep.equal(['a'])
        expect(await found(await openSharedIndex(source))).to.deep.equal(['a'])
      })
    })

    describe('memory/vector-memory', () => {
      describeMemory(() => openSharedMemory(openSources()[0]))

      it('is the same on both servers', async () => {
        const [one, other] = await Promise.all(openSources().map(openSharedMemory))
        if (!one || !other) throw new Error('two servers')
        const ids = [await one.store('written by one', {}, run), await other.store('written by the other', {}, run)]
        expect((await one.search('written', 5, run)).map(({ id }) => id)).to.have.members(ids)
        expect((await other.list(run)).map(({ id }) => id)).to.deep.equal(ids)
        const outcomes = await Promise.all([one.delete(ids[0] ?? '', run), other.delete(ids[0] ?? '', run)])
        expect(outcomes.filter(Boolean)).to.have.length(1)
        expect((await other.search('written', 5, run)).map(({ id }) => id)).to.deep.equal([ids[1]])
      })
    })

    describe('conversation/persistent', () => {
      const config = { metadata_key: 'conversation_id', by_user: true, max_messages: 200 }
      const response = {
        respondText() {},
        respondReasoning() {},
        respondImage() {},
        respondAudio() {},
        respondFile() {},
        getResponse: () => ({ text: '', attachments: [] }),
      }

      describeConversationHistory(async (history) => {
        const context = makeContext({ hasSharedStore: true })
        return persistent.create({ history, response, storage: openSources()[0].storageOf(context) }, config, context)
      })

      it("continues a user's conversation on another server, and clears it there", async () => {
        const sources = openSources()
        const ann = makeRun({ user: 'ann' })
        const turn = async (source: StorageSource, text: string, act: 'answer' | 'clear' = 'answer') => {
          const context = makeContext({ hasSharedStore: true })
          const history = { getHistory: () => [says(text)], addMessage() {}, clearHistory() {} }
          const parts = { history, response, storage: source.storageOf(context) }
          const module = await persistent.create(parts, config, context)
          const seen = (await module.getHistory(ann)).map(({ content }) => content)
          if (act === 'clear') await module.clearHistory(ann)
          else await module.respondText(`answer to ${text}`)
          await module[Symbol.asyncDispose]?.()
          return seen
        }
        expect(await turn(sources[0], 'one')).to.deep.equal(['one'])
        expect(await turn(sources[1], 'two')).to.deep.equal(['one', 'answer to one', 'two'])
        expect(await turn(sources[0], 'three', 'clear')).to.have.length(5)
        expect(await turn(sources[1], 'four')).to.deep.equal(['four'])
      })
    })
  })
}

describe('a module that uses Storage', () => {
  const FILES = {
    'modules/counter.ts': `import { defineModule, defineProtocol, Storage } from 'agent-host'
export const Counter = defineProtocol('Counter', ['count'])
export default defineModule({ name: 'Counter', provides: [Counter], uses: { storage: Storage }, scope: 'agent',
  create: ({ storage }, _config, { hasSharedStore }) => ({ async count(run) {
    const count = ((await storage.get('count', run)) ?? 0) + 1
    await storage.set('count', count, run)
    return count + ' ' + hasSharedStore } }) })`,
    'modules/teller.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
import { Counter } from './counter.ts'
export default defineModule({ name: 'Teller', provides: [TextMessageHandler], uses: { response: Response, counter: Counter },
  create: ({ response, counter }) => ({ async handleText(_text, run) { await response.respondText(await counter.count(run)) } }) })`,
  }
  const AGENT = {
    id: 'counting',
    modules: [
      { id: 'counter', module: 'counter' },
      { id: 'teller', module: 'teller' },
    ],
  }

  it("gets the host's storage, and its calls are events of the run", async () => {
    const { dir } = await makeProject(FILES)
    const storage = memoryStorage({ isShared: true })
    const events: string[] = []
    const answers: string[] = []
    for (const number of [1, 2]) {
      const host = new AgentHost({ projectDir: dir, storage })
      host.onEvent(({ event_name, run_id }) => events.push(`${number} ${event_name} ${run_id !== null}`), '__storage__')
      await host.register(AGENT)
      answers.push((await host.run('counting', 'hi')).text)
      await host.close()
    }
    expect(answers).to.deep.equal(['1 true', '2 true'])
    const ofOne = ['get.call', 'get.result', 'set.call', 'set.result']
    expect(events).to.deep.equal([1, 2].flatMap((n) => ofOne.map((name) => `${n} __storage__.Storage.${name} true`)))
  })

  it('keeps records for each tenant apart, within a run also without naming the run', async () => {
    const { dir } = await makeProject({
      'modules/notes.ts': `import { defineModule, Response, Storage, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Notes', provides: [TextMessageHandler], uses: { response: Response, storage: Storage },
  create: ({ response, storage }) => ({ async handleText(text, run) {
    await storage.set(text, 1)
    await storage.append('log', text)
    const found = await storage.list({ prefix: '', limit: 9 })
    await response.respondText(run.with({ user: 'eve' }).tenant + ': ' + found.map(({ key }) => key).join()) } }) })`,
    })
    const host = new AgentHost({ projectDir: dir, storage: memoryStorage() })
    await host.register({ id: 'notes', modules: [{ id: 'main', module: 'notes' }] })
    const say = async (text: string, tenant?: string) => (await host.run('notes', text, { tenant })).text
    expect([await say('a'), await say('b', 'acme'), await say('c', 'globex'), await say('d')]).to.deep.equal([
      ': a,log/000000000000',
      'acme: b,log/000000000000',
      'globex: c,log/000000000000',
      ': a,d,log/000000000000,log/000000000001',
    ])
    await host.close()
  })

  it('gets an error with the next step if the host has no storage', async () => {
    const { dir } = await makeProject(FILES)
    const host = new AgentHost({ projectDir: dir })
    await host.register(AGENT)
    const failure = await host.run('counting', 'hi').catch((error: Error) => error.message)
    expect(failure).to.equal('This host has no storage for modules.')
    await host.close()
  })

  it('uses the store of an opened project', async () => {
    const { dir } = await makeProject({ ...FILES, 'agents/counting.yml': JSON.stringify(AGENT) })
    const answers: string[] = []
    for (let n = 0; n < 2; n++) {
      const project = await openProject({ projectDir: dir, logLevel: 'silent' })
      answers.push((await project.run('counting', 'hi')).text)
      await project.close()
    }
    expect(answers).to.deep.equal(['1 false', '2 false'])
  })
})
