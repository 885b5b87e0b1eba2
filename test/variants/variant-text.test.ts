import { expect } from 'chai'
import { parse } from 'yaml'
import { readChanges, writeChanges } from '../../src/variants/variant-text.ts'
import type { VariantChange } from '../../src/wire/variant.ts'

const TEXT = `# An agent.
id: a

modules:
  - id: loop # runs
    module: orchestrator/tool-loop
    config:
      system_prompt: >-
        Be
        kind. # not a comment
      max_steps:   4    # enough
  - { id: llm, module: llm/openai, config: { model: gpt,  temperature: 0.2 } } # flow
  - &base
    id: one
    module: echo
    config: &shared
      prefix: 'say: '
  - id: two
    module: echo
    config: *shared
  - id: three
    module: echo
`
const change = (module: string, path: string, value?: unknown): VariantChange => ({ module, path: [path], value })

describe('the text of a variant', () => {
  it('differs from that of the agent in the changed values alone', () => {
    const replaced: [VariantChange, string, string][] = [
      [change('loop', 'max_steps', 7), 'max_steps:   4    # enough', 'max_steps:   7    # enough'],
      [change('llm', 'model', 'gpt: 5, {x} # y'), 'model: gpt,', 'model: "gpt: 5, {x} # y",'],
      [change('llm', 'temperature', 1), 'temperature: 0.2 }', 'temperature: 1 }'],
      [change('one', 'prefix', "it's"), "prefix: 'say: '", "prefix: 'it''s'"],
    ]
    for (const [changed, now, then] of replaced) {
      expect(writeChanges(TEXT, [changed])).to.equal(TEXT.replace(now, then))
    }
  })

  it('has any value that was put in, and comments', () => {
    const values = [
      '',
      'true',
      '5',
      'a\nb\n',
      'a\n  b',
      '- x',
      'é "quoted" \\ \'single\'',
      '#',
      ' lead',
      'x: y',
      '${A:-b}',
    ]
    for (const value of values) {
      for (const [module, path] of [
        ['loop', 'system_prompt'],
        ['llm', 'model'],
        ['one', 'prefix'],
      ] as const) {
        const text = writeChanges(TEXT, [change(module, path, value)])
        const { config } = parse(text).modules.find(({ id }: { id: string }) => id === module)
        expect(config[path], `${module} ${JSON.stringify(value)}\n${text}`).to.equal(value)
        expect(text).to.include('# An agent.').and.to.include('# runs')
      }
    }
  })

  it('has lines of spaces, and empty lines at the end of a text, as they were put in', () => {
    const text = `id: a
modules:
  - id: loop
    module: orchestrator/tool-loop
    config:
      system_prompt: |
        Be kind.

      max_steps: 4
  - { id: flow, module: orchestrator/tool-loop, config: { system_prompt: Be kind., max_steps: 4 } }
`
    for (const value of ['a\n \nb', 'a\n\n\n', '\n', '\t\n', 'a\n \n'])
      for (const module of ['loop', 'flow']) {
        const written = writeChanges(text, [change(module, 'system_prompt', value)])
        const { config } = parse(written).modules.find(({ id }: { id: string }) => id === module)
        expect(config, `${module} ${JSON.stringify(value)}\n${written}`).to.deep.equal({
          system_prompt: value,
          max_steps: 4,
        })
      }
  })

  it('changes one of several places that share a value, adds what is not there, and removes', () => {
    const configs = (changes: VariantChange[]) =>
      Object.fromEntries(
        parse(writeChanges(TEXT, changes)).modules.map(({ id, config }: Record<string, unknown>) => [id, config]),
      )
    expect(configs([change('two', 'prefix', 'tell')])).to.deep.include({
      one: { prefix: 'say: ' },
      two: { prefix: 'tell' },
    })
    expect(configs([change('three', 'prefix', 'tell')])).to.deep.include({ three: { prefix: 'tell' } })
    expect(configs([change('llm', 'temperature')])).to.deep.include({ llm: { model: 'gpt' } })
  })

  it('is read as the innermost values that differ', () => {
    const text = TEXT.replace('model: gpt, ', 'model: gpt-5, ')
      .replace(/ +max_steps.*\n/, '')
      .replace('kind', 'short')
    expect(readChanges(TEXT, text, 'a.yml').changes).to.deep.equal([
      { module: 'loop', path: ['system_prompt'], value: 'Be short. # not a comment' },
      { module: 'loop', path: ['max_steps'] },
      { module: 'llm', path: ['model'], value: 'gpt-5' },
    ])
    expect(readChanges(TEXT, TEXT.replace('# An agent.', '# Another.'), 'a.yml').changes).to.deep.equal([])
  })
})
