import { Type } from 'agent-host'
import { expect } from 'chai'
import { interpolate } from '../../src/definition/interpolate.ts'

const schema = Type.Object({
  text: Type.Optional(Type.String()),
  count: Type.Optional(Type.Integer()),
  on: Type.Optional(Type.Boolean()),
  either: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  list: Type.Optional(Type.Array(Type.Number())),
})
const environment = { NAME: 'Ada', COUNT: '3', ON: 'false', EMPTY: '' }

function fill(config: object): unknown {
  const { value, problems } = interpolate(config, schema, environment)
  expect(problems).to.deep.equal([])
  return value
}

describe('interpolate', () => {
  it('replaces variables in texts, with and without a default', () => {
    expect(fill({ text: '${NAME} and ${NOBODY:-nobody}, ${EMPTY:-empty}${EMPTY}' })).to.deep.equal({
      text: 'Ada and nobody, empty',
    })
  })

  it('keeps $${ as a literal', () => {
    expect(fill({ text: 'a $${NAME} b' })).to.deep.equal({ text: 'a ${NAME} b' })
  })

  it('converts a single reference to the type in the schema', () => {
    expect(
      fill({ text: '${COUNT}', count: '${COUNT}', on: '${ON}', either: '${COUNT}', list: ['${COUNT}'] }),
    ).to.deep.equal({
      text: '3',
      count: 3,
      on: false,
      either: 3,
      list: [3],
    })
  })

  it('does not change its input', () => {
    const config = { text: '${NAME}' }
    fill(config)
    expect(config).to.deep.equal({ text: '${NAME}' })
  })

  it('reports a missing variable, and a misspelt reference', () => {
    const { problems } = interpolate({ text: '${NOBODY}', list: ['${no body}'] }, schema, environment)
    expect(problems).to.deep.equal([
      {
        path: ['text'],
        message: "text needs the environment variable 'NOBODY'.",
        suggestions: ['Set NOBODY in .env or in the environment, or write ${NOBODY:-default}.'],
      },
      {
        path: ['list', 0],
        message: "list[0] has a '${' that is no variable.",
        suggestions: ['Write ${NAME} or ${NAME:-default} for a variable, and $${ for the two characters.'],
      },
    ])
  })
})
