import { type Embedder, type Memory, memoryStorage, type StorageSource } from 'agent-host'
import { expect } from 'chai'
import { describeMemory } from '../../suites/memory-suite.ts'
import { countTurns } from '../../support/count-turns.ts'
import { makeRun } from '../../support/fake-run.ts'
import { makeEmbedder, openIndex, openMemory, openProjectStore } from '../../support/memory.ts'
import { runAgent } from '../../support/run-agent.ts'
import { makeProject } from '../../support/temp-project.ts'

const run = makeRun()
const texts = async (memory: Memory, of = run) => (await memory.list(of)).map(({ text }) => text)

describe('memory/vector-memory', () => {
  describeMemory(() => openMemory())

  it('finds a long text by any of its pieces, once', async () => {
    const chunker = { chunk: async (text: string) => text.split('|') }
    const memory = await openMemory(undefined, { chunker })
    const id = await memory.store('trains run late|trains are full|cheese is yellow', {}, run)
    const other = await memory.store('trains', {}, run)
    expect((await memory.search('yellow cheese', 5, run)).map((found) => found.id)).to.deep.equal([id, other])
    expect((await memory.search('trains', 2, run)).map((found) => found.id)).to.deep.equal([other, id])
  })

  it('keeps everything across a restart: texts in the store of the project', async () => {
    const { dir } = await makeProject()
    const open = async () => {
      const [store, index] = [openProjectStore(dir), await openIndex(dir)]
      const close = async () => {
        await index.dispose?.()
        await store.close()
      }
      return { memory: await openMemory(dir, { source: store.source, index }), close }
    }
    const { memory, close } = await open()
    const id = await memory.store('The train leaves at noon.', { line: 7 }, run)
    await memory.delete(await memory.store('wrong', {}, run), run)
    await close()
    const again = await open()
    expect(await again.memory.list(run)).to.deep.equal([
      { id, text: 'The train leaves at noon.', metadata: { line: 7 } },
    ])
    expect((await again.memory.search('train', 5, run)).map((found) => found.id)).to.deep.equal([id])
    await again.close()
  })

  it('is shared by every instance with the same records and vectors', async () => {
    const { dir } = await makeProject()
    const source = memoryStorage()
    const [one, other] = [await openMemory(dir, { source }), await openMemory(dir, { source })]
    const ids = await Promise.all([one.store('written by one', {}, run), other.store('written by the other', {}, run)])
    expect((await one.search('written', 5, run)).map(({ id }) => id)).to.have.members(ids)
    await one.delete(ids[0] as string, run)
    expect((await other.search('written', 5, run)).map(({ id }) => id)).to.deep.equal([ids[1]])
  })

  it('leaves no vectors behind of a text that could not be stored', async () => {
    const index = await openIndex()
    const memory = await openMemory(undefined, {
      index,
      source: {
        isShared: false,
        storageOf: (owner) => {
          const storage = memoryStorage().storageOf(owner)
          return new Proxy(storage, {
            get: (target, name) =>
              name === 'append' || name === 'set' || name === 'replace'
                ? async () => {
                    throw new Error('the store is away')
                  }
                : Reflect.get(target, name).bind(target),
          })
        },
      },
    })
    const failure = await memory.store('not to be found', {}, run).catch((error: Error) => error.message)
    expect(failure).to.equal('the store is away')
    const [vector] = await (await makeEmbedder()).embed(['not to be found'], run)
    expect(await index.search(vector ?? new Float32Array(), 9, run)).to.deep.equal([])
  })

  it('stores no text of which a part would never be found', async () => {
    const few: Embedder = { embed: async () => [new Float32Array([1, 0])] }
    const halves = { chunk: async (text: string) => text.split('|') }
    const none = { chunk: async () => [] }
    const refused = async (parts: Parameters<typeof openMemory>[1]) => {
      const memory = await openMemory(undefined, parts)
      const failure = await memory.store('one|two', {}, run).catch((error: Error) => error.message)
      expect(await texts(memory)).to.deep.equal([])
      return failure
    }
    expect(await refused({ embedder: few, chunker: halves })).to.equal('The embedder gave 1 vectors for 2 texts.')
    expect(await refused({ chunker: none })).to.equal('The chunker gave no piece of the text.')
  })

  it('reads no more of the index once hits are too far away', async () => {
    const index = await openIndex()
    let searches = 0
    const counted = {
      ...index,
      async search(...given: Parameters<typeof index.search>) {
        searches++
        return index.search(...given)
      },
    }
    const memory = await openMemory(undefined, { index: counted, config: { min_score: 0.9 } })
    for (let i = 0; i < 50; i++) await memory.store(`cheese number ${i}`, {}, run)
    const id = await memory.store('a train at noon', {}, run)
    expect((await memory.search('a train at noon', 5, run)).map((hit) => hit.id)).to.deep.equal([id])
    expect(searches).to.equal(1)
  })

  it('gives others their turn between the searches of a large index', async () => {
    const others = Array.from({ length: 2000 }, (_, count) => ({ id: `${count}.others`, score: 1 }))
    let searches = 0
    const index = {
      ...(await openIndex()),
      async search(_: Float32Array, limit: number) {
        searches++
        return others.slice(0, limit)
      },
    }
    const memory = await openMemory(undefined, { index, config: { per_user: true } })
    const stop = countTurns()
    expect(await memory.search('train', 5, run)).to.deep.equal([])
    expect(searches).to.be.above(3)
    expect(stop()).to.be.at.least(searches - 2)
  })

  it('saves nothing without persist', async () => {
    const source = memoryStorage()
    const memory = await openMemory(undefined, { source, config: { persist: false } })
    await memory.store('gone with the agent', {}, run)
    expect(await texts(memory)).to.deep.equal(['gone with the agent'])
    expect(await texts(await openMemory(undefined, { source }))).to.deep.equal([])
  })

  it('reads no entries of other users in a search', async () => {
    const source = memoryStorage()
    const read: string[] = []
    const counting: StorageSource = {
      isShared: false,
      storageOf(owner) {
        const storage = source.storageOf(owner)
        const get = storage.get.bind(storage)
        storage.get = (key) => {
          read.push(key)
          return get(key)
        }
        return storage
      },
    }
    const memory = await openMemory(undefined, { source: counting, config: { per_user: true } })
    for (let n = 0; n < 20; n++) await memory.store('I like plums', {}, makeRun({ user: 'bob' }))
    await memory.store('I like plums', {}, makeRun({ user: 'ann' }))
    expect(await memory.search('plums', 5, makeRun({ user: 'ann' }))).to.have.length(1)
    expect(new Set(read)).to.have.property('size', 1)
  })

  it('keeps the memories of users apart with per_user', async () => {
    const memory = await openMemory(undefined, { config: { per_user: true } })
    const [ann, bob, nobody] = [makeRun({ user: 'ann' }), makeRun({ user: 'bob' }), makeRun()]
    for (let n = 0; n < 20; n++) await memory.store('I like plums', {}, bob)
    const id = await memory.store('I like plums', {}, ann)
    expect((await memory.search('plums', 5, ann)).map((found) => found.id)).to.deep.equal([id])
    expect(await memory.get(id, bob)).to.equal(undefined)
    expect([await memory.update(id, 'x', {}, bob), await memory.delete(id, bob)]).to.deep.equal([false, false])
    expect(await texts(memory, nobody)).to.deep.equal([])
    expect(await texts(memory, ann)).to.deep.equal(['I like plums'])
  })

  it('omits results below min_score', async () => {
    const memory = await openMemory(undefined, { config: { min_score: 0.3 } })
    await memory.store('The train leaves at noon.', {}, run)
    expect(await memory.search('cheese', 5, run)).to.deep.equal([])
    expect(await memory.search('noon train', 5, run)).to.have.length(1)
  })

  it("stores nothing of a text whose embedding fails, and keeps the entry's old text", async () => {
    const local = await makeEmbedder()
    let isBroken = false
    const embedder: Embedder = {
      embed: (asked, of) => (isBroken ? Promise.reject(new Error('no model')) : local.embed(asked, of)),
    }
    const index = await openIndex()
    const memory = await openMemory(undefined, { embedder, index })
    const id = await memory.store('old', {}, run)
    isBroken = true
    const failure = (promise: Promise<unknown>) => promise.then(String, (error: Error) => error.message)
    expect(await failure(memory.store('new', {}, run))).to.equal('no model')
    expect(await failure(memory.update(id, 'new', {}, run))).to.equal('no model')
    expect(await texts(memory)).to.deep.equal(['old'])
    const [query] = await local.embed(['old'], run)
    expect(await index.search(query as Float32Array, 9, run)).to.have.length(1)
  })

  it('removes the vectors of a replaced or deleted text', async () => {
    const index = await openIndex()
    const memory = await openMemory(undefined, { index, chunker: { chunk: async (text) => text.split('|') } })
    const id = await memory.store('a|b|c', {}, run)
    await memory.delete(await memory.store('d|e', {}, run), run)
    await memory.update(id, 'f|g', {}, run)
    const [query] = await (await makeEmbedder()).embed(['a'], run)
    expect(await index.search(query as Float32Array, 9, run)).to.have.length(2)
  })

  it('removes its vectors from the index if not all could be added', async () => {
    const index = await openIndex()
    let adds = 0
    const failing = {
      ...index,
      add: (...args: Parameters<typeof index.add>) =>
        ++adds === 2 ? Promise.reject(new Error('full')) : index.add(...args),
    }
    const memory = await openMemory(undefined, { index: failing, chunker: { chunk: async (text) => text.split('|') } })
    expect(await memory.store('a|b|c', {}, run).catch((error: Error) => error.message)).to.equal('full')
    const [query] = await (await makeEmbedder()).embed(['a'], run)
    expect(await index.search(query as Float32Array, 9, run)).to.deep.equal([])
  })

  it("keeps memories from run to run, through the agent's tools", async () => {
    const call = (name: string, args: object) => ({ tool_calls: [{ name, arguments: args }] })
    const replies = [
      call('memory_store', { text: 'Rex is a dog' }),
      'ok',
      call('memory_search', { query: 'dog' }),
      'found',
    ]
    const agent = {
      id: 'keeper',
      modules: [
        { id: 'embedder', module: 'embedder/local' },
        { id: 'index', module: 'memory/exact-index' },
        { id: 'chunker', module: 'chunker/token' },
        { id: 'memory', module: 'memory/vector-memory' },
        { id: 'tools', module: 'tools/memory' },
        { id: 'llm', module: 'llm/mock', scope: 'agent', config: { replies } },
        { id: 'loop', module: 'orchestrator/tool-loop' },
      ],
    }
    const results: unknown[] = []
    const { text } = await runAgent(agent, 'which dog?', {
      before: ['remember'],
      onCall: (event) => {
        if (event.event_name === 'tools/memory.MemoryTools.executeTool.result') results.push(event.result)
      },
    })
    expect(text).to.equal('found')
    expect((results[1] as { text: string }).text).to.match(/^\[[0-9a-f-]{36}\] Rex is a dog$/)
  })
})
