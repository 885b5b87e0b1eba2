import { expect } from 'chai'
import { readDefinition } from '../../src/definition/definition.ts'
import { AgentError, formatProblem } from '../../src/definition/problem.ts'
import { measureCpuTime } from '../support/cpu-time.ts'

const MINIMAL = 'id: a\nmodules:\n  - id: m\n    module: echo\n'

function problemsOf(source: unknown): string[] {
  try {
    readDefinition(source, 'agents/a.yml')
  } catch (error) {
    if (error instanceof AgentError) {
      return error.problems.map((problem) => [formatProblem(problem), ...problem.suggestions].join(' | '))
    }
    throw error
  }
  throw new Error('The definition was accepted.')
}

describe('readDefinition', () => {
  it('fills in defaults', () => {
    expect(readDefinition(MINIMAL).definition).to.deep.equal({
      id: 'a',
      description: '',
      examples: [],
      modules: [{ id: 'm', module: 'echo', config: {} }],
      exchange: [],
      toolMetadata: {},
      runPolicy: { requestOptions: 'allow', isRestartSafe: false, approvalTtl: undefined },
    })
  })

  it("reads an agent's description as a tool, with hints in both spellings", () => {
    const input = {
      type: 'object',
      properties: { city: { type: 'string', enum: ['Lima'] } },
      required: ['city'],
      $defs: {},
    }
    const toolMetadata = { title: 'Weather', input, output: { type: 'object' }, conversation: true }
    const annotations = { readOnlyHint: true, open_world_hint: false }
    const { definition } = readDefinition({
      id: 'a',
      modules: [{ id: 'm', module: 'echo' }],
      ...toolMetadata,
      annotations,
    })
    expect(definition.toolMetadata).to.deep.equal({
      ...toolMetadata,
      annotations: { readOnlyHint: true, openWorldHint: false },
    })
    expect(problemsOf(`${MINIMAL}input: { type: string }\n`)[0]).to.match(/input\.type must be 'object'/)
    for (const [key, schema, reason] of [
      ['input', "{ type: object, properties: { a: { type: string, pattern: '(' } } }", 'Invalid regular expression'],
      ['output', "{ type: object, properties: { a: { type: string, pattern: '(' } } }", 'Invalid regular expression'],
    ] as const) {
      const [problem] = problemsOf(`${MINIMAL}${key}: ${schema}\n`)
      expect(problem).to.match(RegExp(`^agents/a.yml:5:\\d+: ${key} is no JSON Schema that can be used: ${reason}`))
    }
    expect(problemsOf(`${MINIMAL}annotations: { readOnly: true }\n`)[0]).to.match(/'annotations.readOnly' is not known/)
  })

  it('reads every key, and both spellings of the field name', () => {
    const { definition } = readDefinition(
      [
        'id: a.b-c_1',
        'description: Does it',
        'examples: [What?, Why?]',
        'modules:',
        '  - { id: m, module: x/y#Z, scope: agent, config: { n: 1 }, provides: [LLM], uses: [Response] }',
        'exchange:',
        '  - { module: m, protocol: LLM, provider: p, field_name: one }',
        '  - { module: m, protocol: LLM, provider: [p, q], fieldName: two }',
      ].join('\n'),
    )
    expect(definition).to.deep.equal({
      id: 'a.b-c_1',
      description: 'Does it',
      examples: ['What?', 'Why?'],
      modules: [{ id: 'm', module: 'x/y#Z', scope: 'agent', config: { n: 1 }, provides: ['LLM'], uses: ['Response'] }],
      exchange: [
        { module: 'm', protocol: 'LLM', provider: ['p'], isList: false, fieldName: 'one' },
        { module: 'm', protocol: 'LLM', provider: ['p', 'q'], isList: true, fieldName: 'two' },
      ],
      toolMetadata: {},
      runPolicy: { requestOptions: 'allow', isRestartSafe: false, approvalTtl: undefined },
    })
  })

  it('is deeply frozen, and a copy of the object that it was read from', () => {
    const source = { id: 'a', modules: [{ id: 'm', module: 'echo', config: { deep: { n: 1 } } }] }
    const { definition } = readDefinition(source)
    const [module] = source.modules
    if (module) module.config.deep.n = 2
    expect(definition.modules[0]?.config).to.deep.equal({ deep: { n: 1 } })
    expect(Object.isFrozen(definition.modules[0]?.config.deep)).to.equal(true)
  })

  const broken: [title: string, text: string, problems: string[]][] = [
    ['an empty file', '', ["agents/a.yml:1:1: An agent file must be a mapping with 'id' and 'modules'."]],
    ['a list', '- a', ["agents/a.yml:1:1: An agent file must be a mapping with 'id' and 'modules'."]],
    ['a missing id', 'modules: [{ id: m, module: echo }]', ['agents/a.yml:1:1: id is missing.']],
    [
      'an id with a space',
      'id: a b\nmodules: [{ id: m, module: echo }]',
      ["agents/a.yml:1:1: id must be 1 to 128 letters, digits, '_', '.' or '-', a letter or digit first."],
    ],
    [
      'a misspelt key',
      `${MINIMAL}    confg: {}\n`,
      ["agents/a.yml:5:5: The key 'modules[0].confg' is not known. | Did you mean 'config'?"],
    ],
    [
      'an unknown scope',
      `${MINIMAL}    scope: run\n`,
      ["agents/a.yml:5:5: modules[0].scope must be one of 'instance' and 'agent'."],
    ],
    [
      'a provider that is there twice',
      `${MINIMAL}exchange:\n  - { module: __entry__, protocol: TextMessageHandler, provider: [m, m] }\n`,
      ['agents/a.yml:6:56: exchange[0].provider must not have duplicate items.'],
    ],
    [
      'a provider that is no text',
      `${MINIMAL}exchange:\n  - { module: __entry__, protocol: TextMessageHandler, provider: [m, 3] }\n`,
      ['agents/a.yml:6:70: exchange[0].provider[1] must be a string.'],
    ],
    [
      'no provider',
      `${MINIMAL}exchange:\n  - { module: __entry__, protocol: TextMessageHandler, provider: [] }\n`,
      ['agents/a.yml:6:56: exchange[0].provider must not be empty.'],
    ],
    [
      'several documents in one file',
      `${MINIMAL}---\nid: b\n`,
      ['agents/a.yml:5:1: The file has several YAML documents. | Write each into a file of its own.'],
    ],
    [
      'two modules of one id',
      `${MINIMAL}  - { id: m, module: echo }\n`,
      ["agents/a.yml:5:7: Two modules have the id 'm'. | Give each module its own id."],
    ],
    [
      'a reserved id',
      'id: a\nmodules:\n  - { id: __entry__, module: echo }\n',
      ["agents/a.yml:3:7: The module id '__entry__' is reserved. | Use an id without the underscores."],
    ],
    [
      'tasks that continue a conversation',
      `${MINIMAL}conversation: true\ntasks: true\n`,
      [
        "agents/a.yml:6:1: 'tasks' and 'conversation' exclude each other: a task is one call, without a conversation_id. | Leave one of the two out.",
      ],
    ],
    [
      'a key that stands twice',
      'id: a\nid: b\nmodules: [{ id: m, module: echo }]',
      ["agents/a.yml:2:1: The key 'id' appears a second time. | Remove one of the two."],
    ],
    [
      'an alias within its own value',
      'id: a\nmodules:\n  - { id: m, module: echo, config: &c { list: [&d x, *d], more: [*c] } }\n',
      ["agents/a.yml:3:66: The alias '*c' is part of the value that it refers to. | Write the value out."],
    ],
    [
      'broken YAML',
      'id: a\nmodules: [\n',
      [
        'agents/a.yml:3:1: The YAML cannot be read: Flow sequence in block collection must be sufficiently indented and end with a ]',
      ],
    ],
  ]
  for (const [title, text, problems] of broken) {
    it(`rejects ${title}, naming the place`, () => {
      expect(problemsOf(text)).to.deep.equal(problems)
    })
  }

  it('rejects a file larger than 256 KiB', () => {
    expect(problemsOf(`${MINIMAL}#${'x'.repeat(256 * 1024)}`)).to.deep.equal([
      'agents/a.yml:1:1: The file has 262187 bytes; an agent definition may have 262144. | Move long texts into files that a module reads.',
    ])
  })

  it('rejects unknown tags instead of reading their values as texts', () => {
    expect(problemsOf(`${MINIMAL}description: !env SECRET\n`)).to.deep.equal([
      'agents/a.yml:5:14: The YAML cannot be read: Unresolved tag: !env',
    ])
  })

  it('rejects exponential aliases', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
    for (let n = 1; n < 9; n++) lines.push(`a${n}: &a${n} [${`*a${n - 1}, `.repeat(9)}]`)
    expect(problemsOf(lines.join('\n'))).to.deep.equal([
      'agents/a.yml:1:1: The YAML cannot be read: Excessive alias count indicates a resource exhaustion attack.',
    ])
  })

  it('finds 4000 aliases within their own value in linear time', () => {
    const stop = measureCpuTime()
    expect(problemsOf(`id: a\nmodules: &m [${'*m, '.repeat(4000)}]`)).to.have.length(4000)
    expect(stop()).to.be.below(3000)
  })

  it('reads 20,000 keys in linear time', () => {
    const keys = Array.from({ length: 20_000 }, (_, n) => `k${n}: 1`).join('\n')
    const spentMs = measureCpuTime()
    expect(problemsOf(keys).at(-1)).to.equal('agents/a.yml: Further problems: 19982.')
    expect(spentMs()).to.be.below(4000)
  })
})
