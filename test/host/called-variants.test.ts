import { AgentHost, defineModule, many, Response, TextMessageHandler, ToolProvider, Type } from 'agent-host'
import { expect } from 'chai'
import type { Problem } from '../../src/definition/problem.ts'
import type { AgentEvent } from '../../src/run/calls/agent-events.ts'

const speaker = defineModule({
  name: 'Speaker',
  provides: [TextMessageHandler],
  uses: { tools: many(ToolProvider), response: Response },
  config: Type.Object({
    system_prompt: Type.String({ default: 'plain' }),
    calls: Type.Array(Type.String(), { default: [] }),
  }),
  create: ({ tools: [team], response }, { system_prompt, calls }) => ({
    async handleText(message, run) {
      const said = [system_prompt]
      for (const name of calls) {
        const result = await team?.executeTool(name, { message }, run.with({ toolCallId: `to ${name}` }))
        said.push(result?.text ?? 'nobody')
      }
      await response.respondText(said.join(' > '))
    },
  }),
})

const agent = (id: string, calls: readonly string[] = []) => ({
  id,
  modules: [
    ...(calls.length > 0 ? [{ id: 'team', module: 'tools/agents', config: { agents: calls } }] : []),
    { id: 'main', module: speaker, config: { calls: calls.map((name) => name.replaceAll('.', '_')) } },
  ],
})
const change = (value: string, of?: string) => ({
  ...(of === undefined ? {} : { agent: of }),
  module: 'main',
  path: ['system_prompt'],
  value,
})

describe('a variant with values of the agents that it calls', () => {
  async function makeHost() {
    const host = new AgentHost()
    for (const [id, calls] of [['kb.old'], ['billing', ['kb.old']], ['desk', ['billing']], ['lone']] as const) {
      await host.register(agent(id, calls ?? []))
    }
    return host
  }
  const ask = async (host: AgentHost, variant: ReturnType<typeof change>[]) =>
    (await host.run('desk', 'hi', { variant })).text

  it('has each of them run with its own, on every level', async () => {
    const host = await makeHost()
    expect(await ask(host, [change('brief', 'billing')])).equal('plain > brief > plain')
    expect(await ask(host, [change('front'), change('old', 'kb.old')])).equal('front > plain > old')
    expect((await host.run('desk', 'hi')).text).equal('plain > plain > plain')
  })

  it('is traced with the values of each run, and those of before', async () => {
    const host = await makeHost()
    const seen: Record<string, AgentEvent['variant']> = {}
    host.onEvent(({ agent_id, caller_id, event_type, variant }) => {
      if (event_type === 'call' && caller_id.startsWith('agent:')) seen[agent_id] = variant
    })
    await ask(host, [change('old', 'kb.old')])
    const before = 'plain'
    expect(seen).deep.equal({
      desk: [{ ...change('old', 'kb.old'), before }],
      billing: [{ ...change('old', 'kb.old'), before }],
      'kb.old': [{ ...change('old'), before }],
    })
  })

  it('is refused for an agent that is not called, and for a value that it does not have, with its name', async () => {
    const host = await makeHost()
    const problemsOf = async (refused: object): Promise<readonly Problem[]> =>
      host.openVariant('desk', [refused as ReturnType<typeof change>]).then(
        () => [],
        ({ problems }) => problems,
      )
    expect(await problemsOf(change('x', 'lone'))).deep.equal([
      { message: "agent 'desk' does not call an agent 'lone'.", suggestions: ['It calls: billing, kb.old.'] },
    ])
    const [problem] = await problemsOf({ ...change('x', 'billing'), module: 'mian' })
    expect(problem).deep.include({ agent: 'billing', message: "There is no module 'mian'." })
  })

  it('goes on with the values of an agent that was edited meanwhile', async () => {
    const host = await makeHost()
    const variant = [change('brief', 'billing')]
    await host.openVariant('desk', variant)
    await host.replace('billing', agent('billing'))
    expect(await ask(host, variant)).equal('plain > brief')
  })
})
