import { expect } from 'chai'
import { ThoughtTags } from '../../../modules/llm/lib/thought-tags.ts'
import { collect } from '../../suites/llm-suite.ts'
import { connectsModels } from '../../support/connect-model.ts'
import { streams } from '../../support/fake-model-server.ts'
import { says } from '../../support/fake-run.ts'

function read(pieces: readonly string[]): Record<string, string> {
  const tags = new ThoughtTags()
  const said = { reasoning: '', text: '' }
  for (const part of [...pieces.flatMap((piece) => tags.take(piece)), ...tags.end()]) {
    if (part.type === 'text' || part.type === 'reasoning') said[part.type] += part.text
  }
  return said
}

describe('thoughts between tags at the beginning of an answer', () => {
  it('are reasoning, wherever the text is cut into pieces', () => {
    const whole = '\n<think>a < b </thin> plan</think>\n\nThe <think>answer</think>'
    for (let cut = 0; cut <= whole.length; cut++) {
      const expected = { reasoning: 'a < b </thin> plan', text: 'The <think>answer</think>' }
      expect(read([whole.slice(0, cut), whole.slice(cut)]), `cut at ${cut}`).to.deep.equal(expected)
    }
    expect(read([...whole])).to.deep.equal({ reasoning: 'a < b </thin> plan', text: 'The <think>answer</think>' })
  })

  it('may be empty, or cut off; other text stays as it is', () => {
    expect(read(['<think>\n</think>ok'])).to.deep.equal({ reasoning: '\n', text: 'ok' })
    expect(read(['<think>not yet </th'])).to.deep.equal({ reasoning: 'not yet </th', text: '' })
    for (const text of ['', ' \n', '<thi', 'So <think>x</think>', '<thinking>', '<b>']) {
      expect(read([...text]), text).to.deep.equal({ reasoning: '', text })
    }
  })

  describe('with llm/openai-compatible', () => {
    const connect = connectsModels()
    const deltas = [{ content: '<thi' }, { content: 'nk>hm</think>\n' }, { content: 'yes' }]

    it('are reasoning by default, and text if the config says so', async () => {
      const { llm } = await connect([streams(deltas)])
      const plain = await connect([streams(deltas)], { think_tags: false })
      const parts = await collect(llm, { messages: [says('hi')] })
      expect(parts.slice(0, 2)).to.deep.equal([
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'yes' },
      ])
      const [first] = await collect(plain.llm, { messages: [says('hi')] })
      expect(first).to.deep.equal({ type: 'text', text: '<thi' })
    })
  })
})
