import { type LLM, messageOf, type RunOptions } from 'agent-host'
import { expect } from 'chai'
import { hasCode } from '../../../src/errors.ts'
import { lastRunOf, type Tape } from '../../../src/tape/file/read-tape.ts'
import type { EndLine } from '../../../src/tape/file/tape-lines.ts'
import { findAgent } from '../../../src/tape/replaying/find-agent.ts'
import { eventually } from '../../support/eventually.ts'
import { globalList } from '../../support/global-list.ts'
import { openRecordingHost, type RecordedRun, type RecordingHost, replay } from '../../support/tapes.ts'
import { makeSharedProject, removeFolder, type TempProject } from '../../support/temp-project.ts'

const MODULES = {
  'modules/gauge.ts': `import { defineModule, defineProtocol, Response, TextMessageHandler } from 'agent-host'
const Gauge = defineProtocol('Gauge', ['read'])
export default defineModule({ name: 'Gauge', provides: [Gauge], boundary: true, create: () => ({ read: (text, run) => {
  globalThis.gaugeReads = (globalThis.gaugeReads ?? 0) + 1
  run.reportProgress('read ' + text)
  run.addUsage({ inputTokens: 3 })
  run.markIncomplete('worn out')
  return 'read ' + text
} }) })
export const main = defineModule({ name: 'Main', provides: [TextMessageHandler], uses: { gauge: Gauge, response: Response },
  create: ({ gauge, response }) => ({ handleText: (text, run) => response.respondText(gauge.read(text, run)) }) })`,
  'modules/reader.ts': `export { main as default } from './gauge.ts'`,
  'modules/frail.ts': `import { setTimeout } from 'node:timers/promises'
import { defineModule, LLM, Response, TextMessageHandler, Type } from 'agent-host'
export default defineModule({ name: 'Frail', provides: [TextMessageHandler], uses: { llm: LLM, response: Response },
  config: Type.Object({ fails: Type.Boolean({ default: true }), asks: Type.Integer({ default: 1 }), adds: Type.String({ default: '' }), works_ms: Type.Integer({ default: 0 }) }),
  create: ({ llm, response }, { fails, asks, adds, works_ms }) => ({ async handleText(content, run) {
    for (let count = 0; count < asks; count++)
      for await (const part of llm.generate({ messages: [{ role: 'user', content }] }, run))
        if (part.type === 'text') await response.respondText(part.text + adds)
    if (works_ms > 0) run.reportProgress('working')
    await setTimeout(works_ms, undefined, { signal: run.signal })
    if (fails) throw new Error('too frail')
  } }) })`,
  'modules/pair.ts': `import { defineModule, LLM, TextMessageHandler, Type } from 'agent-host'
globalThis.pairsLeft ??= []
export default defineModule({ name: 'Pair', provides: [TextMessageHandler], uses: { llm: LLM },
  config: Type.Object({ second: Type.Optional(Type.String()) }),
  create: ({ llm }, { second }) => ({ async handleText(_, run) {
    const ask = async (content) => {
      try { for await (const part of llm.generate({ messages: [{ role: 'user', content }] }, run)); } finally { globalThis.pairsLeft.push(content) }
    }
    await Promise.all([ask('one'), second && ask(second)])
  } }) })`,
  'modules/artist.ts': `import { defineModule, LLM, Response, TextMessageHandler, Type } from 'agent-host'
export default defineModule({ name: 'Artist', provides: [TextMessageHandler], uses: { llm: LLM, response: Response },
  config: Type.Object({ picture: Type.String({ default: 'a cat' }), marks: Type.Boolean({ default: true }), fails: Type.Boolean({ default: false }) }),
  create: ({ llm, response }, { picture, marks, fails }) => ({ async handleText(content, run) {
    const id = crypto.randomUUID()
    for await (const _ of llm.generate({ messages: [{ role: 'user', content: content + id }] }, run));
    await response.respondText('Picture ' + id)
    if (picture !== '') await response.respondImage({ data: new TextEncoder().encode(picture), mediaType: 'image/png' })
    if (marks) run.markIncomplete('content_filter')
    if (fails) throw new Error('no paint')
  } }) })`,
  'modules/charts.ts': `import { defineModule, Response, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Charts', provides: [ToolProvider], uses: { response: Response }, create: ({ response }) => ({
  listTools: () => [{ name: 'show', description: 'Shows', parameters: { type: 'object' } }],
  async executeTool(_name, _args, run) {
    try { run.markIncomplete(true) } catch {}
    await response.respondImage({ data: new Uint8Array(3), mediaType: 'image/png' })
    return { text: 'shown' }
  } }) })`,
  'modules/till.ts': `import { defineModule, ToolProvider } from 'agent-host'
globalThis.tills ??= []
export default defineModule({ name: 'Till', provides: [ToolProvider], create: () => globalThis.tills.push('open') && ({
  async [Symbol.asyncDispose]() { globalThis.tills.push('closed') },
  listTools: () => [{ name: 'pay', description: 'Pays', parameters: { type: 'object' } }],
  needsApproval: () => true,
  executeTool: async () => ({ text: 'paid' }) }) })`,
}
const frail = (config: object = {}) => ({
  id: 'frail',
  modules: [
    { id: 'llm', module: 'llm/mock', config: { replies: ['Well.'] } },
    { id: 'main', module: 'frail', config },
  ],
})
const asFile = (source: unknown) => ({ source, file: undefined })

describe('the end of a replay', () => {
  let project: TempProject
  let projectDir: string
  let recording: RecordingHost

  before(async () => {
    project = await makeSharedProject(MODULES)
    projectDir = project.dir
    recording = await openRecordingHost(projectDir)
  })
  after(async () => {
    await recording.close()
    await removeFolder(projectDir)
  })

  /** Records a run of the frail agent with this config. */
  async function recordFrail(
    config: object,
    input: Parameters<RecordingHost['run']>[1] = 'hi',
    options: RunOptions = {},
  ) {
    await recording.host.register(frail(config))
    const recorded = await recording.run('frail', input, options)
    recording.host.unregister('frail')
    return recorded
  }
  const tapeOf = ({ runId }: RecordedRun): Promise<Tape> => recording.tape(runId)

  it('has what a call did to its run, also where it answered at once', async () => {
    const modules = [
      { id: 'gauge', module: 'gauge' },
      { id: 'main', module: 'reader' },
    ]
    await recording.host.register({ id: 'reader', modules })
    const recorded = await recording.run('reader', 'two')
    const globals = globalThis as { gaugeReads?: number }
    const reads = globals.gaugeReads
    const { divergence, runs, events } = await replay(await tapeOf(recorded), { projectDir })
    expect([divergence, globals.gaugeReads]).deep.equal([undefined, reads])
    const [run] = runs
    expect({ status: run?.status, text: run?.text, error: run?.error }).deep.equal({
      status: recorded.result?.status,
      text: 'read two',
      error: null,
    })
    expect(run?.result?.incompleteReason).equal('worn out').and.equal(recorded.result?.incompleteReason)
    expect(run?.result?.usage).deep.equal(recorded.result?.usage)
    expect(events.filter(({ type }) => type === 'progress')).deep.equal([{ type: 'progress', message: 'read two' }])
  })

  it('is the failure that was recorded; where it no longer fails it is mended, also beyond the tape', async () => {
    const tape = await tapeOf(await recordFrail({}))
    const asRecorded = await replay(tape, { projectDir })
    expect([asRecorded.divergence, asRecorded.runs[0]?.error]).deep.equal([undefined, 'too frail'])
    expect(asRecorded.runs[0]).include({ status: 'failed', text: 'Well.', isBeyond: false })
    const mended = await replay(tape, { projectDir, agent: asFile(frail({ fails: false })) })
    expect([mended.divergence, mended.runs[0]?.status, mended.runs[0]?.isBeyond]).deep.equal([
      undefined,
      'completed',
      false,
    ])
    const beyond = await replay(tape, { projectDir, agent: asFile(frail({ asks: 2 })) })
    expect([beyond.divergence, beyond.runs[0]?.isBeyond]).deep.equal([undefined, true])
    const earlier = await replay(tape, { projectDir, agent: asFile(frail({ asks: 0, fails: false })) })
    expect(earlier.divergence).include({ kind: 'missing' })
  })

  it('differs where the answer, the status or the error does', async () => {
    const recorded = await recordFrail({ fails: false })
    const tape = await tapeOf(recorded)
    const longer = await replay(tape, { projectDir, agent: asFile(frail({ fails: false, adds: '!' })) })
    expect(longer.divergence).deep.equal({
      runId: recorded.runId,
      kind: 'end',
      asked: null,
      recorded: null,
      differences: ['answer: recorded "Well.", asked "Well.!"'],
    })
    const failed = await replay(tape, { projectDir, agent: asFile(frail()) })
    expect(failed.divergence?.differences).deep.equal([
      'status: recorded "completed", asked "failed"',
      'error: recorded null, asked "too frail"',
    ])
    const more = await replay(tape, { projectDir, agent: asFile(frail({ asks: 2 })) })
    expect([more.divergence?.kind, more.runs[0]?.isBeyond]).deep.equal(['call', false])
  })

  it('comes where the client left', async () => {
    const llm: LLM = {
      async *generate(_, run) {
        yield { type: 'text', text: 'One ' }
        yield { type: 'text', text: 'two ' }
        await new Promise((_resolve, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
        yield { type: 'finish', reason: 'stop' }
      },
    }
    const leaving = new AbortController()
    const heard: string[] = []
    const running = recordFrail({}, 'hi', {
      overrides: { llm },
      signal: leaving.signal,
      onEvent: (event) => void (event.type === 'text' && heard.push(event.text)),
    })
    await eventually(() => expect(heard).deep.equal(['One ', 'two ']))
    leaving.abort()
    const tape = await tapeOf(await running)
    const { divergence, runs } = await replay(tape, { projectDir })
    expect(divergence).equal(undefined)
    expect(runs[0]).include({ status: 'cancelled', text: 'One two ' })
    const other = await replay(tape, { projectDir, agent: asFile(frail({ adds: '!' })) })
    expect([other.divergence?.kind, other.divergence?.differences]).deep.equal([
      'end',
      ['answer: recorded "One two ", asked "One !two !"'],
    ])
  })

  it('is without a call that was recorded, also where the client left', async () => {
    const pair = (config: object) => ({
      id: 'halves',
      modules: [frail().modules[0], { id: 'main', module: 'pair', config }],
    })
    const asked: string[] = []
    const llm: LLM = {
      async *generate({ messages }, run) {
        asked.push(String(messages[0]?.content))
        if (asked.at(-1) === 'two') return
        await new Promise((_resolve, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
      },
    }
    await recording.host.register(pair({ second: 'two' }))
    const leaving = new AbortController()
    const left = globalList('pairsLeft')
    left.length = 0
    const running = recording.run('halves', 'hi', { overrides: { llm }, signal: leaving.signal })
    await eventually(() => expect([...asked, ...left]).deep.equal(['one', 'two', 'two']))
    leaving.abort()
    const tape = await tapeOf(await running)
    expect((await replay(tape, { projectDir })).divergence).equal(undefined)
    const { divergence, runs } = await replay(tape, { projectDir, agent: asFile(pair({})) })
    expect([runs[0]?.status, divergence?.kind, divergence?.recorded?.number]).deep.equal(['cancelled', 'missing', 2])
  })

  it('differs where the attachments or the reason of an incomplete answer do, and not for an id of its own', async () => {
    const artist = (config: object) => ({
      id: 'artist',
      modules: [frail().modules[0], { id: 'main', module: 'artist', config }],
    })
    const record = async (config: object) => {
      await recording.host.register(artist(config))
      const recorded = await recording.run('artist', 'Draw.')
      recording.host.unregister('artist')
      return tapeOf(recorded)
    }
    const tape = await record({})
    const differencesOf = async (config: object, of = tape) => {
      const { divergence } = await replay(of, { projectDir, agent: asFile(artist(config)) })
      return divergence && [divergence.kind, ...divergence.differences]
    }
    expect(await differencesOf({})).equal(undefined)
    const other = await differencesOf({ picture: 'a dog' })
    expect([other?.length, other?.[0], other?.[1]?.split(':')[0]]).deep.equal([2, 'end', 'attachments[0].data.$bytes'])
    const [kind, none] = (await differencesOf({ picture: '' })) ?? []
    expect([kind, none?.startsWith('attachments[0]: recorded {'), none?.endsWith(', asked nothing')]).deep.equal([
      'end',
      true,
      true,
    ])
    expect(await differencesOf({ marks: false })).deep.equal(['end', 'reason: recorded "content_filter", asked null'])
    expect(await differencesOf({ fails: true }, await record({ fails: true }))).equal(undefined)
  })

  it('is the same where a tool sends a picture by itself, and is refused something', async () => {
    const replies = [{ tool_calls: [{ name: 'show', arguments: {} }] }, 'There it is.']
    const definition = (say: string) => ({
      id: 'drawing',
      modules: [
        { id: 'llm', module: 'llm/mock', config: { replies } },
        { id: 'tools', module: 'charts' },
        { id: 'loop', module: 'orchestrator/tool-loop', config: { system_prompt: say } },
      ],
    })
    await recording.host.register(definition('Draw.'))
    const tape = await tapeOf(await recording.run('drawing', 'Please.'))
    expect([lastRunOf(tape).end.attachments.length, lastRunOf(tape).end.reason]).deep.equal([1, null])
    expect((await replay(tape, { projectDir })).divergence).equal(undefined)
  })

  it('differs where the arguments of a call that waits do, and not by a tape that has none', async () => {
    const shop = (euros: number) => ({
      id: 'asking',
      modules: [
        {
          id: 'llm',
          module: 'llm/mock',
          config: { replies: [{ tool_calls: [{ name: 'pay', arguments: { euros } }] }] },
        },
        { id: 'tools', module: 'till' },
        { id: 'loop', module: 'orchestrator/tool-loop', config: { system_prompt: 'Be kind.' } },
      ],
    })
    await recording.host.register(shop(20))
    const tape = await tapeOf(await recording.run('asking', 'Pay.'))
    const run = lastRunOf(tape)
    const withArguments = (pendingArguments: EndLine['pendingArguments']): Tape => {
      const { pendingArguments: _, ...end } = run.end
      return { ...tape, runs: [{ ...run, end: pendingArguments ? { ...end, pendingArguments } : end }] }
    }
    const differencesOf = async (of: Tape) => (await replay(of, { projectDir })).divergence?.differences
    expect([run.end.status, run.end.pendingArguments]).deep.equal(['waiting', [{ euros: 20 }]])
    expect(await differencesOf(tape)).equal(undefined)
    expect(await differencesOf(withArguments(undefined))).equal(undefined)
    expect(await differencesOf(withArguments([{ euros: 5 }]))).deep.equal([
      'pendingArguments[0].euros: recorded 5, asked 20',
    ])
  })

  it('comes where the client left while no call was under way, and otherwise not before its own work is done', async () => {
    const leaving = new AbortController()
    const left = await recordFrail({ works_ms: 60_000 }, 'hi', {
      signal: leaving.signal,
      onEvent: ({ type }) => void (type === 'progress' && leaving.abort()),
    })
    const cancelled = await replay(await tapeOf(left), { projectDir })
    expect(cancelled.divergence).equal(undefined)
    expect(cancelled.runs[0]).include({ status: 'cancelled', text: 'Well.' })
    const worked = await replay(await tapeOf(await recordFrail({ fails: false, works_ms: 50 })), { projectDir })
    expect([worked.divergence, worked.runs[0]?.status]).deep.equal([undefined, 'completed'])
  })

  it('of the first run that differs is the last: calls are counted on from the runs before', async () => {
    const ask = { tool_calls: [{ name: 'pay', arguments: {} }] }
    const shop = (prompt: string, ...replies: unknown[]) => ({
      id: 'shop',
      modules: [
        { id: 'llm', module: 'llm/mock', scope: 'agent', config: { replies } },
        { id: 'tools', module: 'till' },
        { id: 'loop', module: 'orchestrator/tool-loop', config: { system_prompt: prompt } },
      ],
    })
    await recording.host.register(shop('Be kind.', ask, { text: 'Done.' }))
    const waiting = await recording.run('shop', 'Pay.')
    const answers = (waiting.result?.pending ?? []).map(
      ({ callId }) => ({ callId, kind: 'approval', decision: 'approve' }) as const,
    )
    const tape = await tapeOf(await recording.resume('shop', waiting, answers))
    const counts = tape.runs.map(({ calls }) => calls.length)
    expect(counts).have.lengthOf(2)
    const { runs, divergence } = await replay(tape, { projectDir, changes: [] })
    expect([divergence, runs.map(({ status }) => status)]).deep.equal([undefined, ['waiting', 'completed']])
    const changed: Tape = {
      ...tape,
      runs: tape.runs.map((run, index) => (index === 0 ? run : { ...run, calls: run.calls.map(withOtherPrompt) })),
    }
    const second = await replay(changed, { projectDir })
    expect(second.runs).have.lengthOf(2)
    const number = second.divergence?.recorded?.number ?? 0
    expect(number).above(counts[0] ?? 0)
    expect(lastRunOf(tape).calls[number - (counts[0] ?? 0) - 1]?.line.method).equal('generate')
  })

  it('is refused for an entry point that the agent does not have', async () => {
    const tape = await tapeOf(await recordFrail({}))
    const [run] = tape.runs
    const other = { ...tape, runs: [{ ...lastRunOf(tape), turn: { ...run?.turn, entry_point: 'gone' } }] } as Tape
    const refused = await replay(other, { projectDir }).catch((error: unknown) => error)
    expect(refused).include({
      code: 'TAPE_INVALID',
      message: "The tape calls 'gone', and agent 'frail' has no such entry point.",
    })
    expect(refused).have.deep.property('suggestions', ['--as-recorded replays the agent as it was.'])
  })

  it('leaves no module open where the run cannot start', async () => {
    const shop = (more: object = {}) => ({
      id: 'paying',
      modules: [
        { id: 'llm', module: 'llm/mock', config: { replies: ['Well.'] } },
        { id: 'till', module: 'till', scope: 'agent' },
        { id: 'loop', module: 'orchestrator/tool-loop', config: { system_prompt: 'Be kind.' } },
      ],
      ...more,
    })
    await recording.host.register(shop())
    const tape = await tapeOf(await recording.run('paying', 'hi', { requestOptions: { temperature: 0 } }))
    recording.host.unregister('paying')
    await eventually(() => expect(globalList('tills').at(-1)).equal('closed'))
    globalList('tills').length = 0
    const run = lastRunOf(tape)
    const elsewhere: Tape = { ...tape, runs: [{ ...run, turn: { ...run.turn, entry_point: 'gone' } }] }
    const refuse = async (asked: Tape, agent: object) => {
      const refused: unknown = await replay(asked, { projectDir, live: ['till'], agent: asFile(agent) }).catch((e) => e)
      return [hasCode(refused, 'TAPE_INVALID'), hasCode(refused, 'REQUEST_INVALID'), globalList('tills').splice(0)]
    }
    expect(await refuse(elsewhere, shop())).deep.equal([true, false, ['open', 'closed']])
    expect(await refuse(tape, shop({ request_options: 'refuse' }))).deep.equal([false, true, ['open', 'closed']])
  })

  it('leaves no branch waiting for one that differs', async () => {
    const pair = (second: string) => ({
      id: 'pair',
      modules: [frail().modules[0], { id: 'main', module: 'pair', config: { second } }],
    })
    await recording.host.register(pair('two'))
    const tape = await tapeOf(await recording.run('pair', 'hi'))
    const run = lastRunOf(tape)
    const late = run.calls.map((call) => ({ ...call, line: { ...call.line, ms: (call.line.call - 1) * 60_000 } }))
    globalList('pairsLeft').length = 0
    const { divergence } = await replay(
      { ...tape, runs: [{ ...run, calls: late }] },
      { projectDir, agent: asFile(pair('2')) },
    )
    expect(divergence?.differences).deep.equal(['request.messages[0].content: recorded "two", asked "2"'])
    expect(globalList('pairsLeft')).have.members(['2', 'one'])
  })

  it('has another question where one is given, in the place of the last', async () => {
    const tape = await tapeOf(
      await recordFrail({ fails: false }, [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'Well?' },
        { role: 'user', content: 'ho' },
      ]),
    )
    const { divergence } = await replay(tape, { projectDir, input: 'hey' })
    expect(divergence?.differences).deep.equal(['request.messages[0].content: recorded "ho", asked "hey"'])
  })
})

/** A recorded call of the model as if the prompt had been another. */
function withOtherPrompt(call: Tape['runs'][number]['calls'][number]): typeof call {
  if (call.line.method !== 'generate') return call
  const text = JSON.stringify(call.line).replace('Be kind.', 'Be brief.')
  return { ...call, line: JSON.parse(text) }
}

describe('the agent of a tape', () => {
  const agent = (id: string) => `id: ${id}\nmodules: [{ id: main, module: echo }]`
  const tape = (id: string, file: string | null = null) =>
    ({ name: 't', runs: [{ head: { agent: { id, file } } }] }) as unknown as Tape

  it('is found by its id, or by its file, among files that cannot be read', async () => {
    const { dir, write } = await makeSharedProject({
      'agents/a.yml': agent('a'),
      'agents/b.yml': agent('b'),
      'agents/bad.yml': 'id: [',
    })
    try {
      const find = (...given: Parameters<typeof tape>) => findAgent(tape(...given), { projectDir: dir })
      expect(await find('b')).deep.equal({ source: agent('b'), file: 'agents/b.yml' })
      // Another agent has taken the file of one that has moved.
      expect(await find('b', 'agents/a.yml')).include({ file: 'agents/b.yml' })
      expect(await find('gone', 'agents/bad.yml')).deep.equal({ source: 'id: [', file: 'agents/bad.yml' })
      const error = await find('gone', 'agents/gone.yml').catch((reason: unknown) => reason)
      expect(messageOf(error)).equal("The tape is of agent 'gone', which the project no longer has.")
      expect(error).have.deep.property('suggestions', ['--as-recorded replays the agent as it was.'])
      await write('more/c.yml', agent('c'))
      expect(await findAgent(tape('c'), { projectDir: dir, agentDir: 'more' })).include({ file: 'more/c.yml' })
    } finally {
      await removeFolder(dir)
    }
  })
})
