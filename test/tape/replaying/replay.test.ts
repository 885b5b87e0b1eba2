import { setTimeout } from 'node:timers/promises'
import { type LLM, messageOf, type RunEvent } from 'agent-host'
import { expect } from 'chai'
import { silentLog } from '../../../src/protocols/log.ts'
import { EventListeners } from '../../../src/run/calls/agent-events.ts'
import { digestOf } from '../../../src/run/waiting/pending-call.ts'
import { readTape, type Tape, type TapedRun } from '../../../src/tape/file/read-tape.ts'
import { describeDivergence } from '../../../src/tape/replaying/divergence.ts'
import { toTurn } from '../../../src/tape/replaying/replay.ts'
import { fakeLLM, saying } from '../../support/fake-llm.ts'
import { globalList } from '../../support/global-list.ts'
import { listTapes, openRecordingHost, type RecordingHost, replay } from '../../support/tapes.ts'
import { makeSharedProject, removeFolder, type TempProject } from '../../support/temp-project.ts'

const SHOP = `import { defineModule, ToolProvider } from 'agent-host'
globalThis.refunds ??= []
export default defineModule({ name: 'Shop', provides: [ToolProvider], create: () => ({
  listTools: () => [{ name: 'refund', description: 'Refunds an order', parameters: { type: 'object' } }],
  async executeTool(name, args) {
    globalThis.refunds.push(args)
    return { text: 'refunded ' + args.order }
  },
  needsApproval: (name, { order }) => {
    if (order === 13) throw new Error('Nobody knows.')
    return order === 88
  } }) })`
/** Two branches: one asks the model at once, the other after work of its own; then it is told which was answered first. */
const BRANCHES = `import { defineModule, LLM, Response, TextMessageHandler } from 'agent-host'
import { setTimeout } from 'node:timers/promises'
export default defineModule({ name: 'Branches', provides: [TextMessageHandler], uses: { llm: LLM, response: Response },
  create: ({ llm, response }) => ({ async handleText(text, run) {
    const answered = []
    const ask = async (content) => {
      for await (const part of llm.generate({ messages: [{ role: 'user', content }] }, run)) if (part.type === 'text') answered.push(part.text)
    }
    const work = async () => { await setTimeout(40); await ask('quick') }
    await Promise.all([ask('slow'), work()])
    await ask('first: ' + answered[0])
    await response.respondText(answered.join(' '))
  } }) })`
/** Asks the model before there is a run. */
const EARLY = `import { defineModule, LLM, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Early', provides: [TextMessageHandler], uses: { llm: LLM },
  create: async ({ llm }) => { for await (const part of llm.generate({ messages: [] })); return { handleText() {} } } })`
const refunds = () => globalList('refunds')

const shop = (...replies: readonly unknown[]) => ({
  id: 'shop',
  modules: [
    { id: 'llm', module: 'llm/mock', scope: 'agent', config: { replies } },
    { id: 'tools', module: 'shop' },
    { id: 'loop', module: 'orchestrator/tool-loop', config: { system_prompt: 'Be kind.' } },
  ],
})
const refund = (order: number) => ({ tool_calls: [{ name: 'refund', arguments: { order } }] })
const AGENT = shop(refund(7), { text: 'Done.' })
const asFile = (source: unknown) => ({ source, file: undefined })

describe('a replay', () => {
  let project: TempProject
  let projectDir: string
  let recording: RecordingHost
  let tape: Tape

  before(async () => {
    project = await makeSharedProject({
      'modules/shop.ts': SHOP,
      'modules/branches.ts': BRANCHES,
      'modules/early.ts': EARLY,
    })
    projectDir = project.dir
    recording = await openRecordingHost(projectDir)
    await recording.host.register(AGENT)
    tape = await recording.tape((await recording.run('shop', 'Refund order 7')).runId)
    refunds().length = 0
  })

  after(async () => {
    await recording.close()
    await removeFolder(projectDir)
  })

  it('executes no tool', async () => {
    expect((await replay(tape, { projectDir })).divergence).equal(undefined)
    expect(refunds()).deep.equal([])
  })

  it('of a call of which nobody could tell whether it needs an approval has the same error', async () => {
    await recording.host.register({ ...shop(refund(13), { text: 'Sorry.' }), id: 'unlucky' })
    const { runId, result } = await recording.run('unlucky', 'Refund order 13')
    const { divergence, runs } = await replay(await recording.tape(runId), { projectDir })
    expect({ divergence, text: runs[0]?.text }).deep.equal({ divergence: undefined, text: result?.text })
    expect([result?.text, refunds()]).deep.equal(['Sorry.', []])
  })

  it('of two branches waits for what one does between its calls, however little the other waits for', async () => {
    const llm: LLM = {
      async *generate({ messages }) {
        const { content = '' } = messages.at(-1) ?? {}
        if (content === 'slow') await setTimeout(150)
        yield { type: 'text', text: content }
        yield { type: 'finish', reason: 'stop' }
      },
    }
    await recording.host.register({
      id: 'branches',
      modules: [
        { id: 'llm', module: 'llm/mock', config: { replies: ['none'] } },
        { id: 'main', module: 'branches' },
      ],
    })
    const { runId, result } = await recording.run('branches', 'go', { overrides: { llm } })
    expect(result?.text).equal('quick slow first: quick')
    for (let times = 0; times < 3; times++) {
      const { divergence, runs } = await replay(await recording.tape(runId), { projectDir })
      expect({ divergence, text: runs[0]?.text }).deep.equal({ divergence: undefined, text: result?.text })
    }
  })

  it('of an agent that called another needs no other agent: what it said, and what it waited for, are on the tape', async () => {
    const { host, run, resume, tape: tapeOf } = recording
    const ask = { tool_calls: [{ name: 'helper', arguments: { message: 'Refund it' } }] }
    const [llm, , loop] = shop(ask, { text: 'All done.' }).modules
    const team = { id: 'team', module: 'tools/agents', config: { agents: ['helper'] } }
    const usage = { input_tokens: 5, output_tokens: 2 }
    await host.register({ ...shop(refund(88), { text: 'It is paid.', usage }), id: 'helper' })
    await host.register({ id: 'desk', modules: [llm, team, loop] })
    const waiting = await run('desk', 'Please')
    const answers = (waiting.result?.pending ?? []).map(
      ({ callId }) => ({ callId, kind: 'approval', decision: 'approve' }) as const,
    )
    expect(answers).to.have.length(1)
    const next = await resume('desk', waiting, answers)
    expect(next.result).to.deep.include({ text: 'All done.' })
    host.unregister('helper')
    expect(refunds().splice(0)).to.deep.equal([{ order: 88 }])
    // The tape of a run that goes on has the one before it.
    const replayed = await replay(await tapeOf(next.runId), { projectDir })
    expect(replayed.divergence).to.equal(undefined)
    const kinds = (events: readonly RunEvent[]) => events.map(({ type }) => type)
    expect(kinds(replayed.events))
      .to.deep.equal(kinds(next.events))
      .and.to.include.members(['pending', 'progress', 'usage'])
    expect(refunds()).to.deep.equal([])
    // The runs of the other agent have tapes of their own.
    const tapes = await Promise.all(listTapes(projectDir).map((file) => tapeOf(file.replace(/\.jsonl.*/, ''))))
    const agents = tapes.map(({ runs }) => runs[0]?.head.agent.id)
    expect(agents.filter((id) => id === 'helper')).to.have.length(2)
  })

  it('names the first call that differs, what was recorded, and the difference', async () => {
    const [llm, tools, loop] = AGENT.modules
    const edited = { id: 'shop', modules: [llm, tools, { ...loop, config: { system_prompt: 'Be brief.' } }] }
    const events = new EventListeners(silentLog)
    const thrown: unknown[] = []
    events.add(({ exception }) => void (exception && thrown.push(exception)), '')
    const observer = { events, onRunEnd() {} }
    const { divergence } = await replay(tape, { projectDir, agent: asFile(edited), observer })
    expect(divergence).deep.include({ kind: 'call', runId: tape.runs[0]?.turn.run_id })
    expect(divergence?.recorded).include({ number: 2, module: 'llm', method: 'generate' })
    expect(divergence && describeDivergence(divergence).slice(1)).deep.equal([
      '  request.messages[0].content: recorded "Be kind.", asked "Be brief."',
    ])
    // Its module is told the same.
    expect(thrown[0]).include(divergence && describeDivergence(divergence).join('\n'))
  })

  it('refuses an agent as a plan does: for what it lacks, and for a module that is gone', async () => {
    const [llm, tools, loop] = AGENT.modules
    const brief = { module: 'loop', path: ['system_prompt'], value: 'Be brief.' }
    for (const changes of [[], [brief]]) {
      const refuse = (...modules: unknown[]) =>
        replay(tape, { projectDir, agent: asFile({ id: 'shop', modules }), changes }).catch(messageOf)
      expect(await refuse(tools, loop)).equal(
        "Agent 'shop': module 'loop' needs 'LLM' (field 'llm'), and no module provides it.",
      )
      expect(await refuse({ ...llm, module: 'gone' }, tools, loop)).equal(
        "module 'llm': The module 'gone' was not found in the project's modules/ or the library.",
      )
    }
  })

  it('refuses a call outside of a run, also where it is recorded', async () => {
    const early = { id: 'main', module: 'early', scope: 'agent' }
    const agent = asFile({ id: 'shop', modules: [AGENT.modules[0], early] })
    for (const record of [undefined, { add() {} }]) {
      const error = await replay(tape, { projectDir, agent, record }).catch((thrown: unknown) => thrown)
      expect(messageOf(error)).match(/Module 'main' calls 'llm' outside of a run, which no tape has\.$/)
    }
  })

  it('has its approvals bound to the version of its agent, and those of others as they were', () => {
    const digest = (version: string) => digestOf('pay', {}, version)
    const pending = (...digests: (string | undefined)[]) =>
      digests.map((each, index) => ({
        callId: `c${index}`,
        name: 'pay',
        arguments: {},
        ...(each ? { digest: each } : {}),
      }))
    const answers = (...digests: string[]) =>
      digests.map((each, index) => ({ callId: `c${index}`, kind: 'approval', decision: 'approve', digest: each }))
    const recorded = {
      head: { agent: { version: 'before' } },
      turn: {
        run_id: 'r1',
        tenant: '',
        turn: {
          pending: pending(digest('before'), digest('other'), undefined),
          answers: answers(digest('before'), digest('other')),
        },
      },
    } as unknown as TapedRun
    expect(toTurn(recorded, 'now')).deep.include({
      pending: pending(digest('now'), digest('other'), undefined),
      answers: answers(digest('now'), digest('other')),
    })
  })

  it('takes the calls before the first live one from the tape, also where a changed value reaches them', async () => {
    const changes = [{ module: 'loop', path: ['system_prompt'], value: 'Be brief.' }]
    const options = { projectDir, agent: asFile(shop({ text: 'Brief.' })), changes, from: 4 }
    const { divergence, liveCalls, runs } = await replay(tape, { ...options, live: ['llm'] })
    expect([divergence, liveCalls, runs[0]?.text]).deep.equal([undefined, 1, 'Brief.'])
    const played = await replay(tape, options)
    expect(played.divergence?.recorded?.number).equal(4)
    expect(refunds()).deep.equal([])
  })

  it('has the values of the variant that was run', async () => {
    const variant = [{ module: 'loop', path: ['system_prompt'], value: 'Be brief.' }]
    await recording.host.openVariant('shop', variant)
    const varied = await recording.tape((await recording.run('shop', 'Refund order 7', { variant })).runId)
    refunds().length = 0
    const asked: unknown[] = []
    const onCall = (call: { arguments: unknown }) =>
      void asked.push(JSON.stringify(call.arguments).match(/Be \w+\./)?.[0])
    for (const agent of [asFile(AGENT), undefined])
      expect((await replay(varied, { projectDir, agent, onCall })).divergence).equal(undefined)
    expect(asked.filter((prompt) => prompt !== undefined)).deep.equal(new Array(4).fill('Be brief.'))
    const kind = [{ module: 'loop', path: ['system_prompt'], value: 'Be kind.' }]
    const { divergence } = await replay(varied, { projectDir, agent: asFile(AGENT), changes: kind })
    expect(divergence?.differences).deep.equal(['request.messages[0].content: recorded "Be brief.", asked "Be kind."'])
  })

  it('of the agent as it was does not have those of a variant that ran before', async () => {
    const own = await openRecordingHost(projectDir)
    try {
      await own.host.register(AGENT)
      const variant = [{ module: 'loop', path: ['system_prompt'], value: 'Be brief.' }]
      await own.host.openVariant('shop', variant)
      await own.run('shop', 'Refund order 7', { variant })
      const plain = await own.tape((await own.run('shop', 'Refund order 7')).runId)
      expect((await replay(plain, { projectDir })).divergence).equal(undefined)
    } finally {
      await own.close()
      refunds().length = 0
    }
  })

  it('names a call that was recorded and is not made', async () => {
    const silent = { id: 'shop', modules: [{ id: 'echo', module: 'echo' }] }
    const { divergence } = await replay(tape, { projectDir, agent: asFile(silent) })
    expect(divergence && describeDivergence(divergence)).deep.equal(['The run ended without call 1: tools.listTools()'])
  })

  it('plays the calls before the first live one, and refuses a tool call that the tape does not have', async () => {
    const other = shop(refund(8), { text: 'Other.' })
    const live = await replay(tape, { projectDir, agent: asFile(other), live: ['llm'], from: 4 })
    // The script of the mock begins anew with the first live call.
    expect(live.divergence?.asked).deep.include({
      module: 'tools',
      arguments: { name: 'refund', arguments: { order: 8 } },
    })
    expect(refunds()).deep.equal([])
  })

  it('compares nothing with the tape where a model is live and asks for the same', async () => {
    const other = shop(refund(7), { text: 'Quite different.' })
    const { divergence, runs, liveCalls } = await replay(tape, { projectDir, agent: asFile(other), live: ['llm'] })
    expect({ divergence, text: runs[0]?.text, liveCalls }).deep.equal({
      divergence: undefined,
      text: 'Quite different.',
      liveCalls: 2,
    })
    expect(refunds()).deep.equal([])
  })

  it('executes another tool call only with live tools', async () => {
    const other = shop(refund(8), { text: 'Other.' })
    const { divergence } = await replay(tape, { projectDir, agent: asFile(other), live: ['llm', 'tools'] })
    expect(divergence).equal(undefined)
    expect(refunds().splice(0)).deep.equal([{ order: 8 }])
  })

  it('refuses a live module that the agent does not have', async () => {
    const error = await replay(tape, { projectDir, live: ['lm'] }).catch((thrown: unknown) => thrown)
    expect(messageOf(error)).equal("--live lm: agent 'shop' has no module 'lm'.")
    expect(error).have.deep.property('suggestions', ['Write llm, tools, or one of its modules: llm, tools, loop.'])
  })

  it('names the modules whose source has changed, and goes on', async () => {
    await project.write('modules/shop.ts', `${SHOP}\n// edited`)
    try {
      const { divergence, changedFiles } = await replay(tape, { projectDir })
      expect({ divergence, changedFiles }).deep.equal({
        divergence: undefined,
        changedFiles: [{ file: 'modules/shop.ts', modules: ['tools'] }],
      })
    } finally {
      await project.write('modules/shop.ts', SHOP)
    }
  })

  it('records again without a secret that a live model streams word by word', async () => {
    const environment = { SHOP_PASSPHRASE: 'correct horse battery' }
    const agent = shop(refund(7), { text: 'It is correct horse battery, of course.' })
    const lines: string[] = []
    const options = { projectDir, agent: asFile(agent), live: ['llm'], environment }
    const { runs } = await replay(tape, { ...options, record: { add: (line) => void lines.push(line) } })
    expect(runs[0]?.text).include('correct horse battery')
    expect(lines.join('\n')).include(`It is \${SHOP_PASSPHRASE}, of course.`).and.not.include('horse')
    expect((await readTape(Buffer.from(`${lines.join('\n')}\n`), 'new')).runs).lengthOf(1)
  })

  it('needs no variable that only played modules use, and none that names a secret', async () => {
    const named = { ...AGENT, id: 'named' }
    const [, tools, loop] = named.modules
    const llm = { id: 'llm', module: 'llm/openai', config: { api_key: `\${OPENAI_API_KEY}`, model: 'm' } }
    const prompt = { ...loop, config: { system_prompt: `For \${COMPANY}, with \${SHOP_TOKEN}.` } }
    const environment = { OPENAI_API_KEY: 'sk-0123456789012345', COMPANY: 'Acme', SHOP_TOKEN: 'a-token-of-a-shop' }
    const own = await openRecordingHost(projectDir, { environment })
    try {
      await own.host.register({ ...named, modules: [llm, tools, prompt] })
      const model: LLM = fakeLLM(saying('Hello.'))
      const { runId } = await own.run('named', 'hi', { overrides: { llm: model } })
      const named2 = await own.tape(runId)
      expect(JSON.stringify(named2.runs[0]?.calls)).include(`For Acme, with \${SHOP_TOKEN}.`).not.include('a-token')
      const elsewhere = { ...llm, config: { ...llm.config, base_url: `\${GATEWAY}` } }
      const edited = asFile({ ...named, modules: [elsewhere, tools, prompt] })
      const same = [{ module: 'loop', path: ['system_prompt'], value: prompt.config.system_prompt }]
      for (const more of [{}, { agent: edited }, { agent: edited, changes: same }])
        expect((await replay(named2, { projectDir, environment: {}, ...more })).divergence).equal(undefined)
      const changes = [{ module: 'llm', path: ['model'], value: 5 }]
      expect(await replay(named2, { projectDir, environment: {}, changes }).catch(messageOf)).equal(
        "module 'llm' (llm/openai), config: model must be a string.",
      )
    } finally {
      await own.close()
    }
  })
})
