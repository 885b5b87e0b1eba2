import { expect } from 'chai'
import memoryTools from '../../../modules/tools/memory.ts'
import { makeContext, makeRun } from '../../support/fake-run.ts'
import { openMemory } from '../../support/memory.ts'

const ALL = ['store', 'search', 'list', 'update', 'delete']

async function makeTools(config: object = {}) {
  const memory = await openMemory()
  const tools = await memoryTools.create({ memory }, { prefix: 'memory_', include: ALL, ...config }, makeContext())
  const call = async (name: string, args: object) =>
    tools.executeTool(name, args as Record<string, unknown>, makeRun()).then(
      (result) => result,
      (error: Error) => ({ text: error.message, isError: 'thrown' }),
    )
  return { memory, tools, call }
}

describe('tools/memory', () => {
  it('lists a tool for every method of a memory', async () => {
    const { tools } = await makeTools()
    const definitions = await tools.listTools(makeRun())
    expect(definitions.map(({ name }) => name)).to.deep.equal(ALL.map((name) => `memory_${name}`))
    for (const { parameters } of definitions) expect(parameters).to.deep.include({ type: 'object' })
  })

  it('lists only the included tools, under the configured prefix', async () => {
    const { tools, call } = await makeTools({ include: ['search'], prefix: 'notes_' })
    expect((await tools.listTools(makeRun())).map(({ name }) => name)).to.deep.equal(['notes_search'])
    expect((await call('notes_delete', { id: 'x' })).text).to.equal(
      "There is no tool 'notes_delete'. Tools: notes_search.",
    )
  })

  it('stores, finds, lists, replaces and deletes', async () => {
    const { memory, call } = await makeTools()
    expect((await call('memory_store', { text: 'Rex is a dog' })).text).to.match(/^Remembered as [0-9a-f-]{36}\.$/)
    const [entry] = await memory.list(makeRun())
    const id = entry?.id as string
    expect(entry?.metadata).to.have.all.keys('stored_at')
    expect((await call('memory_search', { query: 'dog', limit: '3' })).text).to.equal(`[${id}] Rex is a dog`)
    expect(await call('memory_update', { id, text: 'Rex is a cat' })).to.deep.equal({ text: 'Replaced.' })
    expect((await memory.get(id, makeRun()))?.metadata).to.have.all.keys('stored_at', 'updated_at')
    expect((await call('memory_list', {})).text).to.equal(`[${id}] Rex is a cat`)
    expect(await call('memory_delete', { id })).to.deep.equal({ text: 'Forgotten.' })
    expect((await call('memory_list', {})).text).to.equal('Nothing was found.')
  })

  it('lists the latest of many entries', async () => {
    const { call } = await makeTools()
    for (const text of ['one', 'two', 'three']) await call('memory_store', { text })
    expect((await call('memory_list', { limit: 2 })).text).to.match(/^\[.*\] two\n\[.*\] three$/)
  })

  it('reports an unknown id, and invalid arguments', async () => {
    const { call } = await makeTools()
    const missing = { text: "There is no memory with the id 'x'.", isError: true }
    expect(await call('memory_delete', { id: 'x' })).to.deep.equal(missing)
    expect(await call('memory_update', { id: 'x', text: 'y' })).to.deep.equal(missing)
    expect((await call('memory_store', {})).text).to.match(/^Wrong arguments for 'memory_store': .*text/)
    expect((await call('memory_search', { query: 'x', limit: 0 })).text).to.match(
      /^Wrong arguments for 'memory_search': limit/,
    )
  })
})
