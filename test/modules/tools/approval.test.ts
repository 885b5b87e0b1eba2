import { fileURLToPath } from 'node:url'
import { AgentHost, type ToolDefinition } from 'agent-host'
import { expect } from 'chai'
import { ruleOf } from '../../../modules/tools/lib/approval-rules.ts'
import { itWith } from '../../support/it-with.ts'
import { makeProject } from '../../support/temp-project.ts'

const TS = `import { defineTool, Type } from 'agent-host'
const parameters = Type.Object({ euros: Type.Number() })
export const pay = defineTool({ description: 'Pays.', parameters, needsApproval: ({ euros }) => euros > 10, execute: ({ euros }) => 'paid ' + euros })
export const look = defineTool({ description: 'Looks.', parameters: Type.Object({}), execute: () => 'seen' })
export const choose = defineTool({ description: 'Asks.', parameters: Type.Object({}),
  execute: async (_, run) => 'chose ' + await run.ask({ message: 'Which?', schema: { enum: ['a', 'b'] } }) })
`
const PY = `from agent_host import ask, needs_approval

@needs_approval
def wipe(disk: str) -> str:
    """Wipes a disk."""
    return "wiped " + disk

def count(n: int) -> str:
    """Counts."""
    return str(n)

async def order(name: str) -> str:
    """Orders."""
    try:
        size = ask(f"Which size for {name}?", int)
        color = ask("Which color?", {"enum": ["red", "blue"]})
    except Exception:
        return "caught"
    return f"{name} {size + 1} {color}"
`
const LIMITS = `import { ApprovalPolicy, defineModule } from 'agent-host'
export default defineModule({ name: 'Limits', provides: [ApprovalPolicy], create: () => ({
  ruleFor: (name, { euros }) => euros > 100 ? { deny: 'Too much.' } : euros > 50 ? 'always' : euros < 0 ? 'perhaps' : 'never' }) })
`
const TIPS = {
  'tools/tip.ts': `import { defineTool, Type } from 'agent-host'
export const tip = defineTool({ description: 'Tips.', parameters: Type.Object({ euros: Type.Number({ default: 60 }) }), execute: ({ euros }) => 'tipped ' + euros })`,
  'tools/tip.py': `from datetime import datetime
def tip(euros: float = 60, on: datetime | None = None) -> str:
    "Tips."
    return f"tipped {euros} {on}"`,
  'tips.yml': `openapi: 3.0.3
info: { title: Tips, version: '1' }
servers: [{ url: 'http://127.0.0.1:1' }]
paths:
  /tip:
    post:
      operationId: tip
      parameters: [{ name: euros, in: query, schema: { type: number, default: 60 } }]
      responses: { '200': { description: ok } }`,
  'modules/numbers.ts': `import { ApprovalPolicy, defineModule } from 'agent-host'
export default defineModule({ name: 'Numbers', provides: [ApprovalPolicy], create: () => ({
  ruleFor: (name, { a }) => typeof a === 'number' ? 'never' : 'always' }) })`,
  'modules/tips.ts': `import { defineModule, ToolProvider, Type } from 'agent-host'
export default defineModule({ name: 'Tips', provides: [ToolProvider], create: () => ({
  listTools: () => [{ name: 'tip', description: 'Tips.', parameters: Type.Object({ euros: Type.Number({ default: 60 }) }) }],
  executeTool: async (_, { euros }) => ({ text: 'tipped ' + euros }),
  needsApproval: () => ({ policy: 'limits' }) }) })`,
}
const LOCAL = { id: 'tools', module: 'tools/local', config: { files: ['tools/a.ts', 'tools/b.py'] } }
const TYPESCRIPT = { ...LOCAL, config: { files: ['tools/a.ts'] } }
const PYTHON = { ...LOCAL, config: { files: ['tools/b.py'] } }
const mcpServer = {
  name: 'files',
  command: process.execPath,
  args: [fileURLToPath(new URL('../../support/mcp-tool-server.js', import.meta.url))],
}

/** Kinds of what a run waits for when a model makes this call, or the results of the call. */
async function calling(
  tools: { id: string; module: string; config: object },
  config: object,
  name: string,
  args: object,
  listens = false,
) {
  const { dir } = await makeProject({ 'tools/a.ts': TS, 'tools/b.py': PY, 'modules/limits.ts': LIMITS, ...TIPS })
  const host = new AgentHost({ projectDir: dir, environment: { PATH: process.env.PATH } })
  try {
    const replies = [{ tool_calls: [{ name, arguments: args }] }, 'done']
    const modules = [
      { id: 'llm', module: 'llm/mock', config: { replies } },
      { ...tools, config: { ...tools.config, ...config } },
      { id: 'limits', module: 'limits' },
      { id: 'numbers', module: 'numbers' },
      { id: 'loop', module: 'orchestrator/tool-loop' },
    ]
    const input = { type: 'object', properties: { euros: { type: 'number', default: 60 } } }
    await host.register({ id: 'tip', input, modules: [{ id: 'main', module: 'echo' }] })
    await host.register({ id: 'careful', modules })
    if (listens) host.onEvent(() => {})
    const { pending, trail } = await host.run('careful', 'go')
    if (pending.length > 0) return pending.map(({ kind }) => kind)
    return trail.flatMap((message) => (message.role === 'tool' ? [message.content] : []))
  } finally {
    await host.close(0)
  }
}

/** Marks in the definitions that tools/local gives, by name. */
async function listed(config: object): Promise<Record<string, unknown>> {
  const { dir } = await makeProject({ 'tools/a.ts': TS, 'modules/limits.ts': LIMITS })
  const host = new AgentHost({ projectDir: dir })
  try {
    const modules = [
      { id: 'llm', module: 'llm/mock', config: { replies: ['done'] } },
      { ...TYPESCRIPT, config: { ...TYPESCRIPT.config, ...config } },
      { id: 'limits', module: 'limits' },
      { id: 'loop', module: 'orchestrator/tool-loop' },
    ]
    await host.register({ id: 'careful', modules })
    const tools: ToolDefinition[] = []
    host.onEvent(({ event_type, method_name, result }) => {
      if (event_type === 'result' && method_name === 'listTools') tools.push(...(result as ToolDefinition[]))
    })
    await host.run('careful', 'go')
    return Object.fromEntries(tools.map(({ name, approval }) => [name, approval]))
  } finally {
    await host.close(0)
  }
}

describe('approvals of tools', () => {
  it('are marked in the definitions: all calls, some of them, or none', async () => {
    expect(await listed({})).deep.equal({ pay: 'sometimes', look: undefined, choose: undefined })
    const approval = { look: 'always', pay: 'limits', '*': 'never' }
    expect(await listed({ approval })).deep.equal({ pay: 'sometimes', look: 'always', choose: undefined })
    expect(await listed({ approval: 'never' })).deep.equal({ pay: undefined, look: undefined, choose: undefined })
  })

  it('the first matching glob decides', () => {
    const rules = { 'get_*': 'never', '*': 'always' } as const
    expect(['get_x', 'forget_x', 'get.x'].map((name) => ruleOf(rules, name))).to.deep.equal([
      'never',
      'always',
      'always',
    ])
    expect(ruleOf({ 'a.c': 'always' }, 'abc')).to.equal(undefined)
    const names = ['', 'ab', 'a.b', 'a.b.b', 'aab', 'a\nb', 'ba']
    const fitting = (glob: string) => names.filter((name) => ruleOf({ [glob]: 'always' }, name))
    expect(fitting('*')).to.deep.equal(names)
    expect(fitting('a*b')).to.deep.equal(['ab', 'a.b', 'a.b.b', 'aab', 'a\nb'])
    expect(fitting('a*.b*b')).to.deep.equal(['a.b.b'])
    expect(fitting('ab*b')).to.deep.equal([])
    expect(fitting('**a**')).to.deep.equal(['ab', 'a.b', 'a.b.b', 'aab', 'a\nb', 'ba'])
    expect([ruleOf('always', 'x'), ruleOf(undefined, 'x')]).to.deep.equal(['always', undefined])
  })

  it('a name that is made for it takes no time with many stars', () => {
    const beganMs = performance.now()
    expect(ruleOf({ '*a*a*b': 'never' }, 'a'.repeat(1_000_000))).to.equal(undefined)
    expect(performance.now() - beganMs).to.be.below(1000)
  })

  for (const listens of [false, true]) {
    it(`tools/local: code decides by the arguments, and the config takes precedence${listens ? ', with a listener' : ''}`, async () => {
      const ask = (config: object, name: string, args: object) => calling(TYPESCRIPT, config, name, args, listens)
      expect(await ask({}, 'pay', { euros: 11 })).to.deep.equal(['approval'])
      expect(await ask({}, 'pay', { euros: '9' })).to.deep.equal(['paid 9'])
      expect(await ask({}, 'look', {})).to.deep.equal(['seen'])
      expect(await ask({ approval: 'always' }, 'look', {})).to.deep.equal(['approval'])
      expect(await ask({ approval: { 'p*': 'never' } }, 'pay', { euros: 11 })).to.deep.equal(['paid 11'])
      expect((await ask({}, 'pay', {}))[0]).to.match(/^Wrong arguments for 'pay'/)
    })
  }

  itWith('Python 3.8', 'tools/local: @needs_approval of a Python file', async () => {
    const asked = [
      calling(LOCAL, {}, 'wipe', { disk: 'c' }),
      calling(PYTHON, {}, 'count', { n: 2 }),
      calling(PYTHON, { approval: { wipe: 'never' } }, 'wipe', { disk: 'c' }),
    ]
    expect(await Promise.all(asked)).to.deep.equal([['approval'], ['2'], ['wiped c']])
  })

  itWith('Python 3.8', 'tools/local: a tool in Python asks, and runs again with each answer', async () => {
    const { dir } = await makeProject({ 'tools/a.ts': TS, 'tools/b.py': PY })
    const host = new AgentHost({ projectDir: dir, environment: { PATH: process.env.PATH } })
    try {
      const replies = [{ tool_calls: [{ name: 'order', arguments: { name: 'hat' } }] }, 'done']
      const llm = { id: 'llm', module: 'llm/mock', scope: 'agent', config: { replies } }
      await host.register({ id: 'careful', modules: [llm, LOCAL, { id: 'loop', module: 'orchestrator/tool-loop' }] })
      const first = await host.run('careful', 'go')
      const asked = first.pending[0]
      expect([asked?.message, asked?.schema]).to.deep.equal(['Which size for hat?', { type: 'integer' }])
      const callId = asked?.callId ?? ''
      const answer = (trail: typeof first.trail, pending: typeof first.pending, answers: unknown[]) =>
        host.run('careful', trail, { pending, answers: [{ callId, kind: 'question', answers }] })
      const second = await answer(first.trail, first.pending, [41])
      expect(second.pending.map(({ message }) => message)).to.deep.equal(['Which color?'])
      const ended = await answer(second.trail, second.pending, [41, 'red'])
      expect(ended.trail.filter(({ role }) => role === 'tool').map(({ content }) => content)).to.deep.equal([
        'hat 42 red',
      ])
    } finally {
      await host.close(0)
    }
  })

  it('tools/local: a tool in TypeScript asks with run.ask', async () => {
    expect(await calling(TYPESCRIPT, {}, 'choose', {})).to.deep.equal(['question'])
  })

  for (const listens of [false, true]) {
    it(`a module decides each call, or denies it with a reason${listens ? ', with a listener' : ''}`, async () => {
      const approval = { look: 'never', '*': 'limits' }
      const ask = (euros: number) => calling(TYPESCRIPT, { approval }, 'pay', { euros }, listens)
      expect(await ask(20)).to.deep.equal(['paid 20'])
      expect(await ask(60)).to.deep.equal(['approval'])
      expect(await ask(200)).to.deep.equal(["The call of 'pay' is denied; it was not executed. Reason: Too much."])
      expect((await ask(-1))[0]).to.contain(`The module 'limits' returned no approval rule for 'pay': "perhaps".`)
    })
  }

  for (const [where, tools] of [
    ['TypeScript', { ...LOCAL, config: { files: ['tools/tip.ts'], approval: 'limits' } }],
    ['Python', { ...LOCAL, config: { files: ['tools/tip.py'], approval: 'limits' } }],
    ['a module of the project', { id: 'tools', module: 'tips', config: {} }],
    ['an API', { id: 'tools', module: 'tools/openapi', config: { document: 'tips.yml', approval: 'limits' } }],
    ['an agent', { id: 'tools', module: 'tools/agents', config: { agents: ['tip'], prefix: '', approval: 'limits' } }],
  ] as const) {
    it(`a module decides by the arguments that the tool gets, defaults included: ${where}`, async () => {
      const ask = (args: object) => calling(tools, {}, 'tip', args)
      expect([await ask({}), await ask({ euros: '70' })]).to.deep.equal([['approval'], ['approval']])
      expect((await ask({ euros: '20' }))[0]).to.match(/^tipped 20|"euros":20|tip failed/)
      expect((await ask({ euros: 'much' }))[0]).to.match(/euros/)
    })
  }

  it('a module decides by what an MCP server is sent, and Python takes what its schema does not say', async () => {
    const files = { id: 'tools', module: 'tools/mcp', config: { servers: [mcpServer], approval: 'numbers' } }
    expect(await calling(files, {}, 'add', { a: '1', b: 2 })).to.deep.equal(['3'])
    expect(await calling(files, {}, 'add', { a: 'one', b: 2 })).to.deep.equal(['approval'])
    const python = { ...LOCAL, config: { files: ['tools/tip.py'], approval: 'limits' } }
    const on = '2026-11-28T10:00:00'
    expect(await calling(python, {}, 'tip', { euros: 20, on })).to.deep.equal(['tipped 20.0 2026-11-28 10:00:00'])
    expect(await calling(python, {}, 'tip', { on })).to.deep.equal(['approval'])
  })

  it('an agent with an unknown rule fails to load', async () => {
    const failure = await calling(TYPESCRIPT, { approval: 'loop' }, 'look', {}).catch((error: Error) => error.message)
    expect(failure).to.contain(
      "approval: 'loop' is neither always nor never nor a module that provides ApprovalPolicy.",
    )
    expect(failure).to.contain('one of these modules: limits')
  })

  it("tools/mcp: by rules, or by the server's annotations", async () => {
    const ask = (config: object, name: string, args: object = {}) =>
      calling({ id: 'tools', module: 'tools/mcp', config: { servers: [mcpServer] } }, config, name, args)
    const sum = { a: 1, b: 2 }
    const asked = [
      ask({}, 'dotted_name'),
      ask({ approval: 'destructive' }, 'dotted_name'),
      ask({ approval: 'destructive' }, 'add', sum),
      ask({ approval: { add: 'always', '*': 'destructive' } }, 'add', sum),
    ]
    expect(await Promise.all(asked)).to.deep.equal([['dotted'], ['approval'], ['3'], ['approval']])
  })
})
