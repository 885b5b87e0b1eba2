import {
  AgentHost,
  defineModule,
  Response,
  type RunEnd,
  type RunEvent,
  type RunResult,
  TextMessageHandler,
  ToolProvider,
} from 'agent-host'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { makeProject } from '../../support/temp-project.ts'

const PAY = `import { defineTool, Type } from 'agent-host'
export const pay = defineTool({ description: 'Pays.', parameters: Type.Object({ euros: Type.Number() }), needsApproval: true,
  execute: ({ euros }) => { globalThis.paid = (globalThis.paid ?? 0) + 1; return 'paid ' + euros } })
export const look = defineTool({ description: 'Looks.', parameters: Type.Object({}),
  execute: () => { globalThis.looked = (globalThis.looked ?? 0) + 1; return 'seen' } })
export const ask = defineTool({ description: 'Asks.', parameters: Type.Object({}),
  execute: async (_, run) => 'size ' + (await run.ask({ message: 'Which size?', schema: { type: 'string' } })) })
export const wait = defineTool({ description: 'Waits.', parameters: Type.Object({}),
  execute: (_, run) => { globalThis.aborted = false; return new Promise((_, reject) => run.signal.addEventListener('abort', () => { globalThis.aborted = true; reject(run.signal.reason) })) } })
`
const call = (name: string, args = '{}') => `{ tool_calls: [{ name: ${name}, arguments: ${args} }] }`

/** An agent that follows a script. */
const scripted = (id: string, replies: string[], more = '') => `id: ${id}
description: Does ${id}.
${more}modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [${replies.join(', ')}] } }
  - { id: main, module: orchestrator/tool-loop }
`
const withTools = (text: string) => `${text}  - { id: tools, module: tools/local, config: { files: [tools/pay.ts] } }\n`
const withAgents = (text: string, ...agents: string[]) =>
  `${text}  - { id: agents, module: tools/agents, config: { agents: [${agents.map((name) => `'${name}'`).join(', ')}] } }\n`

const asksFor = (id: string, name: string) =>
  withAgents(scripted(id, [call(name, '{ message: go }'), 'all done']), name)

describe('child runs', () => {
  const hosts: AgentHost[] = []
  const seen = globalThis as { paid?: number; looked?: number; aborted?: boolean }
  beforeEach(() => {
    for (const name of ['paid', 'looked', 'aborted'] as const) delete seen[name]
  })
  afterEach(async () => {
    for (const host of hosts.splice(0)) await host.close(0)
  })

  async function open(agents: string[], options: { maxConcurrentRuns?: number; runTimeoutMs?: number } = {}) {
    const { dir } = await makeProject({ 'tools/pay.ts': PAY })
    const host = new AgentHost({ projectDir: dir, environment: {}, ...options })
    hosts.push(host)
    const ends: RunEnd[] = []
    host.onRunEnd((end) => ends.push(end))
    for (const agent of agents) await host.register(agent)
    const resume = (agent: string, { runId, pending, trail }: RunResult, answer: object) => {
      // What is kept is JSON.
      const kept = JSON.parse(JSON.stringify({ runId, agent, pending, options: {} }))
      const callId = pending[0]?.callId ?? ''
      return host.resume({ ...kept, trail }, [{ callId, ...answer } as never])
    }
    const resumeAll = (agent: string, { runId, pending, trail }: RunResult, answers: Record<string, object>) => {
      const kept = JSON.parse(JSON.stringify({ runId, agent, pending, options: {} }))
      const given = pending.flatMap(({ callId, name }) =>
        answers[name] ? [{ callId, ...answers[name] } as never] : [],
      )
      return host.resume({ ...kept, trail }, given)
    }
    return { host, ends, resume, resumeAll }
  }

  it('answer the tool call of their parent, with its user and tenant, and count there', async () => {
    const billing = scripted('billing', ['{ text: It is 5, usage: { input_tokens: 3, output_tokens: 2 } }'])
    const { host, ends } = await open([billing, asksFor('desk', 'billing')])
    const progress: string[] = []
    const onEvent = (event: { type: string; message?: string }) => {
      if (event.type === 'progress') progress.push(event.message ?? '')
    }
    const result = await host.run('desk', 'hello', { user: 'ann', tenant: 't', onEvent })
    expect(result.text).to.equal('all done')
    const [, , tool] = result.trail
    expect(tool).to.deep.include({ role: 'tool', content: 'It is 5' })
    expect(progress.join('')).to.equal('It is 5')
    const [child, parent] = ends
    expect(child).to.deep.include({ agentId: 'billing', tenant: 't', parentRunId: parent?.runId, status: 'completed' })
    expect(parent).to.deep.include({ agentId: 'desk', parentRunId: undefined })
    for (const { usage } of [child, parent, result] as RunEnd[]) {
      expect(usage).to.deep.include({ inputTokens: 3, outputTokens: 2 })
    }
  })

  it('show nothing past a guard of their parent: their text is progress, which may hold what it blocks', async () => {
    const talker = defineModule({
      name: 'Talker',
      provides: [TextMessageHandler],
      uses: { response: Response },
      create: ({ response }) => ({
        async handleText(_, run) {
          run.reportProgress('sharpens the sword')
          await response.respondEvent?.('weapon', 'sword')
          await response.respondText('a sword')
        },
      }),
    })
    const guard = "  - { id: rail, module: guard/output, config: { patterns: [sword], reply: 'No.' } }\n"
    const { host } = await open([])
    await host.register({ id: 'smith', description: 'Smiths.', modules: [{ id: 'main', module: talker }] })
    for (const rails of ['', guard]) {
      const desk = withAgents(scripted('desk', [call('smith', '{ message: go }'), 'a sword']), 'smith') + rails
      await host.register(desk)
      const seen: string[] = []
      const onEvent = (event: RunEvent) => void (event.type.startsWith('tool_') || seen.push(JSON.stringify(event)))
      await host.run('desk', 'weapon?', { onEvent })
      expect(seen.filter((event) => event.includes('sword')).length).to.equal(rails === '' ? 4 : 0)
      host.unregister('desk')
    }
  })

  it('make their parent wait for an approval, and go on with the decision: nothing is done twice', async () => {
    const billing = withTools(scripted('billing', [call('look'), call('pay', '{ euros: 5 }'), 'paid it']))
    const { host, ends, resume } = await open([billing, asksFor('desk', 'billing')])
    const waiting = await host.run('desk', 'hello')
    expect(waiting.status).to.equal('waiting')
    expect(waiting.pending).to.have.length(1)
    expect(waiting.pending[0]).to.deep.include({ kind: 'approval', name: 'pay', arguments: { euros: 5 } })
    const result = await resume('desk', waiting, { kind: 'approval', decision: 'approve', by: 'ann' })
    expect(result).to.deep.include({ status: 'completed', text: 'all done' })
    expect(seen).to.deep.include({ paid: 1, looked: 1 })
    expect(ends.map(({ agentId, status }) => `${agentId} ${status}`)).to.deep.equal([
      'billing waiting',
      'desk waiting',
      'billing completed',
      'desk completed',
    ])
    const tool = result.trail.findLast(({ role }) => role === 'tool')
    expect(tool).to.deep.include({ content: 'paid it', decisions: [{ name: 'pay', decision: 'approve', by: 'ann' }] })
  })

  it('ask for all that they wait for at once, on every level, and go on with what is answered', async () => {
    const both =
      '{ tool_calls: [{ name: pay, arguments: { euros: 1 } }, { name: ask, arguments: {} }, { name: look, arguments: {} }] }'
    const clerk = withTools(scripted('clerk', [both, 'did both']))
    const { host, resumeAll } = await open([clerk, asksFor('billing', 'clerk'), asksFor('desk', 'billing')])
    const first = await host.run('desk', 'hello')
    expect(first.pending.map(({ kind, name }) => `${kind} ${name}`)).to.have.members(['approval pay', 'question ask'])
    expect(new Set(first.pending.map(({ callId }) => callId)).size).to.equal(2)
    expect(first.pending.filter(({ child }) => child)).to.have.length(1)
    const question = { kind: 'question', answers: ['XL'] }
    const second = await resumeAll('desk', first, { ask: question })
    expect(second.pending.map(({ name }) => name)).to.deep.equal(['pay'])
    expect(seen.paid).to.equal(undefined)
    const result = await resumeAll('desk', second, { pay: { kind: 'approval', decision: 'approve' } })
    expect(result).to.deep.include({ status: 'completed', text: 'all done' })
    expect(seen).to.deep.include({ paid: 1, looked: 1 })
    const atOnce = await resumeAll('desk', await host.run('desk', 'again'), {
      ask: question,
      pay: { kind: 'approval', decision: 'reject' },
    })
    expect(atOnce).to.deep.include({ status: 'completed', text: 'all done' })
    expect(seen).to.deep.include({ paid: 1, looked: 2 })
  })

  it('of one step wait together: those without an answer keep waiting, and what another has done stays', async () => {
    const two =
      '{ tool_calls: [{ name: billing, arguments: { message: a } }, { name: clerk, arguments: { message: b } }] }'
    const pays = (id: string, euros: number) =>
      withTools(scripted(id, [call('look'), call('pay', `{ euros: ${euros} }`), `${id} paid`]))
    const { host, ends } = await open([
      pays('billing', 1),
      pays('clerk', 2),
      withAgents(scripted('desk', [two, 'all done']), 'billing', 'clerk'),
    ])
    const first = await host.run('desk', 'hello')
    expect(first.pending.map(({ arguments: args }) => args)).to.deep.equal([{ euros: 1 }, { euros: 2 }])
    const resume = ({ runId, pending, trail }: RunResult, index: number) => {
      const { callId = '' } = pending[index] ?? {}
      return host.resume({ runId, agent: 'desk', pending, trail, options: {} }, [
        { callId, kind: 'approval', decision: 'approve' },
      ])
    }
    const second = await resume(first, 1)
    expect(second.pending.map(({ arguments: args }) => args)).to.deep.equal([{ euros: 1 }])
    const result = await resume(second, 0)
    expect(result.text).to.equal('all done')
    expect(seen).to.deep.include({ paid: 2, looked: 2 })
    expect(ends.filter(({ agentId }) => agentId === 'clerk')).to.have.length(2)
  })

  it('share the limit for calls of tools with their parent', async () => {
    const back = withTools(scripted('back', [call('look'), 'looked']))
    for (const [maxToolCalls, looked] of [
      [1, undefined],
      [2, 1],
    ] as const) {
      const { host } = await open([back, asksFor('front', 'back')])
      const { text } = await host.run('front', 'go', { maxToolCalls })
      expect([text, seen.looked]).to.deep.equal(['all done', looked])
    }
  })

  it('take the slot of their parent', async () => {
    const billing = scripted('billing', ['{ text: five, delay_ms: 20 }'])
    const three = `{ tool_calls: [${Array.from({ length: 3 }, () => '{ name: billing, arguments: { message: go } }').join(', ')}] }`
    const desk = (id: string) => withAgents(scripted(id, [three, 'all done']), 'billing')
    const { host } = await open([billing, desk('one'), desk('two')], { maxConcurrentRuns: 2 })
    const runs = [host.run('one', 'a'), host.run('two', 'b')]
    expect(await host.run('one', 'c').catch((error: Error) => error.message)).to.match(/All slots for runs are taken/)
    expect((await Promise.all(runs)).map(({ text }) => text)).to.deep.equal(['all done', 'all done'])
    expect(host.runningCount).to.equal(0)
  })

  it('end with their parent', async () => {
    const { host } = await open([withTools(scripted('billing', [call('wait')])), asksFor('desk', 'billing')])
    const controller = new AbortController()
    const run = host.run('desk', 'hello', { signal: controller.signal }).catch((error: Error) => error.message)
    await eventually(() => expect(seen.aborted).to.equal(false))
    controller.abort()
    expect(await run).to.match(/was aborted/)
    await eventually(() => expect(seen.aborted).to.equal(true))
    await eventually(() => expect(host.runningCount).to.equal(0))
  })

  it('end with the call that began them', async () => {
    const { host, ends } = await open([withTools(scripted('billing', [call('wait')]))])
    const caller = defineModule({
      name: 'Caller',
      provides: [TextMessageHandler],
      uses: { agents: ToolProvider, response: Response },
      create: ({ agents, response }) => ({
        async handleText(_, run) {
          const controller = new AbortController()
          const view = run.with({ toolCallId: 'call_1', signal: controller.signal })
          const called = agents.executeTool('billing', { message: 'go' }, view)
          await eventually(() => expect(seen.aborted).to.equal(false))
          controller.abort(new Error('no longer needed'))
          await response.respondText(await called.then(String, String))
        },
      }),
    })
    const team = { id: 'team', module: 'tools/agents', config: { agents: ['billing'] } }
    await host.register({ id: 'desk', modules: [team, { id: 'main', module: caller }] })
    expect((await host.run('desk', 'hello')).text).to.equal('Error: no longer needed')
    await eventually(() => expect(ends.map(({ status }) => status)).to.have.members(['cancelled', 'completed']))
    expect(seen.aborted).to.equal(true)
  })

  it('that are aborted alone, or run for too long, hold up nothing', async () => {
    const agents = [withTools(scripted('billing', [call('wait')])), asksFor('desk', 'billing')]
    const { host, ends } = await open(agents)
    const begun = new Map<string, string>()
    host.onEvent(({ agent_id, run_id }) => void begun.set(agent_id, run_id ?? ''))
    const run = host.run('desk', 'hello')
    await eventually(() => expect(begun.get('billing')).to.be.a('string'))
    host.abort(begun.get('billing') ?? '')
    const { text, trail } = await run
    expect(text).to.equal('all done')
    expect(trail.findLast(({ role }) => role === 'tool')).to.deep.include({
      content: "The agent 'billing' failed: The run of agent 'billing' was aborted.",
      isError: true,
    })
    expect(ends.map(({ status }) => status)).to.deep.equal(['cancelled', 'completed'])
    const limited = await open(agents, { runTimeoutMs: 300 })
    expect(await limited.host.run('desk', 'hello').catch((error: Error) => error.message)).to.match(/was aborted/)
    await eventually(() => expect(limited.ends.map(({ status }) => status)).to.deep.equal(['cancelled', 'cancelled']))
    expect(seen.aborted).to.equal(true)
    await eventually(() => expect(limited.host.runningCount).to.equal(0))
  })

  it('that wait are not under way: an abort finds none; one that goes on again can be aborted', async () => {
    const billing = withTools(scripted('billing', [call('pay', '{ euros: 5 }'), call('wait'), 'never']))
    const { host, ends, resume } = await open([billing, asksFor('desk', 'billing')])
    const waiting = await host.run('desk', 'hello')
    const [child] = ends
    expect([child?.agentId, host.abort(child?.runId ?? ''), host.abort(waiting.runId)]).to.deep.equal([
      'billing',
      false,
      false,
    ])
    expect(host.runningCount).to.equal(0)
    const begun = new Map<string, string>()
    host.onEvent(({ agent_id, run_id, method_name }) => {
      if (method_name === 'executeTool') begun.set(agent_id, run_id ?? '')
    })
    const next = resume('desk', waiting, { kind: 'approval', decision: 'approve' })
    await eventually(() => expect(seen.paid).to.equal(1))
    await eventually(() => expect(begun.get('billing')).to.be.a('string'))
    expect(host.abort(begun.get('billing') ?? '')).to.equal(true)
    const { text, trail } = await next
    expect(text).to.equal('all done')
    const reason = "The agent 'billing' failed: The run of agent 'billing' was aborted."
    expect(trail.findLast(({ role }) => role === 'tool')).to.deep.include({ content: reason, isError: true })
    expect(seen.paid).to.equal(1)
  })

  it('that fail, or whose agent is gone, are errors that the model reads', async () => {
    const { host, resume } = await open([
      withTools(scripted('billing', [call('pay', '{ euros: 5 }'), 'paid it'])),
      scripted('broken', ['{ error: out of order }']),
      asksFor('desk', 'billing'),
      asksFor('other', 'broken'),
    ])
    const toolOf = ({ trail }: RunResult) => trail.findLast(({ role }) => role === 'tool')
    const failed = await host.run('other', 'hello')
    expect(toolOf(failed)).to.deep.include({ isError: true })
    expect(toolOf(failed)?.content).to.match(/^The agent 'broken' failed: .*out of order/)
    const waiting = await host.run('desk', 'hello')
    host.unregister('billing')
    const result = await resume('desk', waiting, { kind: 'approval', decision: 'approve' })
    expect(toolOf(result)).to.deep.include({ isError: true })
    expect(result.text).to.equal('all done')
  })

  it('are those of the version in service when the call is made, within one run of their parent, too', async () => {
    const billing = (text: string) => ({
      id: 'billing',
      modules: [{ id: 'main', module: 'echo', config: { prefix: text } }],
    })
    const { host } = await open([])
    const caller = defineModule({
      name: 'Caller',
      provides: [TextMessageHandler],
      uses: { agents: ToolProvider, response: Response },
      create: ({ agents, response }) => ({
        async handleText(message, run) {
          const ask = (toolCallId: string) => agents.executeTool('billing', { message }, run.with({ toolCallId }))
          const { text: first } = await ask('call_1')
          await host.replace('billing', billing('new '))
          await response.respondText(`${first}, ${(await ask('call_2')).text}`)
        },
      }),
    })
    await host.register(billing('old '))
    const team = { id: 'team', module: 'tools/agents', config: { agents: ['billing'] } }
    await host.register({ id: 'desk', modules: [team, { id: 'main', module: caller }] })
    expect((await host.run('desk', 'bill')).text).to.equal('old bill, new bill')
  })

  it('are refused where agents would call each other in a circle: the path is named', async () => {
    const { host } = await open([asksFor('a', 'b'), asksFor('b', 'c')])
    const problemOf = (text: string) => host.register(text).catch((error: Error) => error.message)
    expect(await problemOf(asksFor('c', 'a'))).to.match(/^6:\d+: Agents call each other in a circle: c → a → b → c\./)
    expect(await problemOf(asksFor('self', 'self'))).to.match(/in a circle: self → self\./)
    expect(await problemOf(withAgents(scripted('all', ['x']), '*'))).to.deep.include({ id: 'all' })
    // By an entry point, and back by another.
    expect(await problemOf(asksFor('c', 'a/__entry__'))).to.match(/in a circle: c → a → b → c\./)
    expect(await problemOf(withAgents(scripted('self', ['x']), 'self/other'))).to.match(/in a circle: self → self\./)
  })

  it('name agents that are not there, with what was probably meant, until they are', async () => {
    const { host } = await open([withAgents(scripted('desk', ['done']), 'biling', 'billing-*', 'billing/refund')])
    const messages = () => host.problems().map(({ message, suggestions, line }) => [message, ...suggestions, line])
    const says = (name: string) =>
      `module 'agents' (tools/agents): there is no agent '${name}': it is not offered as a tool.`
    expect(messages()).to.deep.equal([
      [says('biling'), 6],
      [says('billing/refund'), 6],
    ])
    await host.register(scripted('billing', ['five']))
    expect(messages()).to.deep.equal([
      [says('biling'), "Did you mean 'billing'?", 6],
      [says('billing/refund'), 6],
    ])
    await host.register(scripted('biling', ['five']))
    expect(messages()).to.have.length(1)
  })

  it('refuse two tools of one name; an agent that comes later is left out', async () => {
    const lines: string[] = []
    const log = { debug() {}, info() {}, error() {}, warn: (line: string) => void lines.push(line) }
    const host = new AgentHost({ environment: {}, log })
    hosts.push(host)
    const clash = /The agents 'a\.b' and 'a_b' both become the tool 'a_b'\./
    await host.register(scripted('a.b', ['x']))
    await host.register(withAgents(scripted('early', ['done']), 'a*'))
    await host.register(scripted('a_b', ['x']))
    expect((await host.run('early', 'hello')).text).to.equal('done')
    expect(lines).to.have.length(1)
    expect(lines[0]).to.match(clash)
    const late = host.register(withAgents(scripted('late', ['x']), 'a*'))
    expect(await late.catch((error: Error) => error.message)).to.match(clash)
  })

  it('are eight levels deep at most', async () => {
    const chain = Array.from({ length: 10 }, (_, n) =>
      n === 9 ? scripted('a9', ['end']) : asksFor(`a${n}`, `a${n + 1}`),
    )
    const { host, ends } = await open(chain)
    await host.run('a0', 'go')
    expect(ends.map(({ agentId }) => agentId)).to.deep.equal(['a8', 'a7', 'a6', 'a5', 'a4', 'a3', 'a2', 'a1', 'a0'])
  })

  it('name their parent in events', async () => {
    const { host } = await open([scripted('billing', ['five']), asksFor('desk', 'billing')])
    const begun: [string, string | null, string | null][] = []
    host.onEvent(({ agent_id, event_type, parent_call_id, parent_run_id, parent_run_call_id, method_name }) => {
      if (event_type === 'call' && parent_call_id === null && method_name === 'handleText')
        begun.push([agent_id, parent_run_id, parent_run_call_id])
    })
    const { runId } = await host.run('desk', 'hello')
    expect(begun[0]).to.deep.equal(['desk', null, null])
    expect(begun[1]?.slice(0, 2)).to.deep.equal(['billing', runId])
    expect(begun[1]?.[2]).to.match(new RegExp(`^${runId}\\.`))
  })
})
