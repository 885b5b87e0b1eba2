import { type AgentEvent, AgentHost } from 'agent-host'
import { expect } from 'chai'
import { makeProject } from '../support/temp-project.ts'

const MODULES = {
  'modules/streams.ts': `import { defineModule, defineProtocol } from 'agent-host'
export const Source = defineProtocol('Source', ['generator', 'readable', 'object', 'late', 'long', 'facts'])
const parts = async function* () { yield 'a'; yield 'b' }
export default defineModule({ name: 'Streams', provides: [Source], create: () => ({
  generator: () => parts(),
  readable: () => new ReadableStream({ start(c) { c.enqueue('a'); c.enqueue('b'); c.close() } }),
  object: () => ({ total: 2, text: function () { return this.total + '' }, [Symbol.asyncIterator]: parts }),
  late: async () => parts(),
  long: async function* () { for (let n = 0; n < 2005; n++) yield n },
  facts(run) { run.addUsage({ inputTokens: 5 }); return [run.signal.aborted, run.instructions, run.toolCallId] },
}) })`,
  'modules/main.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
import { Source } from './streams.ts'
const read = async (stream) => { let text = ''; for await (const part of stream) text += part; return text }
export default defineModule({ name: 'Main', provides: [TextMessageHandler], uses: { source: Source, response: Response },
  create: ({ source, response }) => ({ async handleText(text, run) {
    if (text === 'shapes') {
      const readable = source.readable(run)
      const object = source.object(run)
      await response.respondText(JSON.stringify([await read(source.generator(run)), readable instanceof ReadableStream,
        await read(readable), object.total, object.text(), await read(object), await read(await source.late(run))]))
    }
    if (text === 'stop') {
      const stops = (view) => { try { view.throwIfStopped() } catch (error) { return String(error) } return 'goes on' }
      const late = run.with({ signal: AbortSignal.abort('late') })
      await response.respondText([stops(run), stops(late), stops(late.with({ toolCallId: 'c1' }))].join())
    }
    if (text === 'broken') for await (const part of source.generator(run)) throw new Error('no taste for ' + part)
    if (text === 'long') for await (const part of source.long(run));
    if (text === 'unread') source.generator(run)
    if (text === 'left') for await (const part of source.readable(run)) break
    if (text === 'derived') {
      const counted = []
      const view = run.with({ signal: AbortSignal.abort(), instructions: 'brief', addUsage: (usage) => counted.push(usage) })
      const twice = view.with({ toolCallId: 'c1' })
      await response.respondText(JSON.stringify([await source.facts(twice), counted, run.signal.aborted]))
    }
  } }) })`,
}

const AGENT = {
  id: 'a',
  modules: [
    { id: 'source', module: 'streams' },
    { id: 'main', module: 'main' },
  ],
}

async function record(text: string, observed: boolean) {
  const project = await makeProject(MODULES)
  const host = new AgentHost({ projectDir: project.dir })
  const events: AgentEvent[] = []
  if (observed) host.onEvent((event) => void events.push(event))
  await host.register(AGENT)
  const result = await host.run('a', text).catch(() => ({ text: '', usage: { inputTokens: 0 } }))
  await host.close()
  return { result, ends: events.filter(({ event_type, module_id }) => event_type !== 'call' && module_id === 'source') }
}

for (const observed of [false, true]) {
  describe(`a derived run${observed ? ', observed' : ''}`, () => {
    it('keeps overrides in every view', async () => {
      const { result } = await record('derived', observed)
      expect(JSON.parse(result.text)).to.deep.equal([[true, 'brief', 'c1'], [{ inputTokens: 5 }], false])
      expect(result.usage.inputTokens).to.equal(0)
    })

    it('stops with its own signal; the run goes on', async () => {
      const { result } = await record('stop', observed)
      expect(result.text).to.equal('goes on,late,late')
    })

    it('returns streams in their original shape', async () => {
      const { result } = await record('shapes', observed)
      expect(JSON.parse(result.text)).to.deep.equal(['ab', true, 'ab', 2, '2', 'ab', 'ab'])
    })
  })
}

describe('observed streams', () => {
  it('are closed with the run if nobody reads them, and when their reader stops', async () => {
    const { ends: unread } = await record('unread', true)
    expect(unread.map(({ event_type, result }) => [event_type, result])).to.deep.equal([['result', []]])
    const { ends: broken } = await record('broken', true)
    expect(broken.map(({ event_type, result }) => [event_type, result])).to.deep.equal([['result', ['a']]])
    const { ends: left } = await record('left', true)
    expect(left.map(({ event_type, result }) => [event_type, result])).to.deep.equal([['result', ['a']]])
  })

  it('are kept in part if they are long', async () => {
    const { ends } = await record('long', true)
    const [{ result } = { result: undefined }] = ends
    expect(result).to.have.lengthOf(2001)
    expect((result as unknown[]).slice(-2)).to.deep.equal([1999, { omitted: 5 }])
  })
})
