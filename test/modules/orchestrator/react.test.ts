import type { LLM, LLMRequest, RunEvent } from 'agent-host'
import { expect } from 'chai'
import { readInput, readStep } from '../../../modules/orchestrator/lib/react-step.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { clockTools, clockFiles as files, runAgent } from '../../support/run-agent.ts'

const agent = (replies: unknown[], config: object = {}) => ({
  id: 'thinker',
  modules: [
    { id: 'llm', module: 'llm/mock', config: { replies } },
    clockTools,
    { id: 'react', module: 'orchestrator/react', config },
  ],
})

/** Runs with a model that gives these replies in one piece each, and tells what it was asked. */
async function ask(replies: string[], config: object = {}, facts: object = {}) {
  const asked: LLMRequest[] = []
  const llm: LLM = {
    async *generate(request) {
      asked.push({ ...request, messages: [...request.messages] })
      yield { type: 'text', text: replies[asked.length - 1] ?? 'Final Answer: nothing more' }
      yield { type: 'finish', reason: 'stop' }
    },
  }
  const progress: string[] = []
  const onEvent = (event: RunEvent) => void (event.type === 'progress' && progress.push(event.message))
  const result = await runAgent(agent(['x'], config), 'When?', { files, overrides: { llm }, onEvent, ...facts })
  return { ...result, asked, progress, seen: asked.at(-1)?.messages.slice(1) }
}

const act = (tool: string, input: string) => `Thought: I look.\nAction: ${tool}\nAction Input: ${input}`

describe('orchestrator/react', () => {
  it('acts, reads observations, and streams only the final answer', async () => {
    const parts: unknown[] = []
    const replies = [act('clock', '{"city": "Lima"}'), 'Thought: I know.\nFinal Answer: It is noon.']
    const { text } = await runAgent(agent(replies), 'When?', {
      files,
      onEvent: (event) => void (event.type === 'text' && parts.push(event.text)),
    })
    expect(text).to.equal('It is noon.')
    expect(parts).to.deep.equal(['It', ' is', ' noon.'])
  })

  it('shows the model its own text and the observations, with tools and format in the system prompt', async () => {
    const { seen, asked, progress } = await ask([act('clock', '{"city": "Lima"}')], { system_prompt: 'Be kind.' })
    expect(seen).to.deep.equal([
      { role: 'user', content: 'When?' },
      { role: 'assistant', content: act('clock', '{"city": "Lima"}') },
      { role: 'user', content: 'Observation: noon in Lima' },
    ])
    expect(asked[0]?.stop).to.deep.equal(['\nObservation:'])
    expect(asked[0]?.tools).to.equal(undefined)
    expect(asked[0]?.messages[0]?.content)
      .to.match(/^Be kind\.\n\nAnswer the question/)
      .and.to.contain('- clock: Tells the time in a city. Arguments: {"')
      .and.to.contain('one of: broken, clock, counter, slow')
    expect(progress).to.deep.equal(['I look.'])
  })

  it('takes every prompt from its config', async () => {
    const config = { form_prompt: 'Tools: {tool_names}.', reminder_prompt: 'Once more.', stop: [] }
    const { asked } = await ask(['Thought: hm'], config, { instructions: 'In French.' })
    expect(asked[1]?.messages.map(({ content }) => content)).to.deep.equal([
      'Tools: broken, clock, counter, slow.\n\nIn French.',
      'When?',
      'Thought: hm',
      'Once more.',
    ])
    expect(asked[0]).not.to.have.property('stop')
  })

  it('ignores an observation that the model made up', async () => {
    const dream = `${act('clock', '{"city": "Lima"}')}\nObservation: midnight\nFinal Answer: midnight`
    const { text, seen } = await ask([dream, 'Final Answer: noon'])
    expect(text).to.equal('noon')
    expect(seen?.slice(1).map(({ content }) => content)).to.deep.equal([
      act('clock', '{"city": "Lima"}'),
      'Observation: noon in Lima',
    ])
  })

  it('stops a model that makes up an observation', async () => {
    let pieces = 0
    const llm: LLM = {
      async *generate({ messages }) {
        const dream = [act('clock', '{"city": "Lima"}'), '\nObservation:', ' midnight', ' all', ' over']
        for (const text of messages.length > 2 ? ['Final Answer: noon'] : dream) {
          pieces++
          yield { type: 'text', text }
        }
      },
    }
    const { text } = await runAgent(agent(['x']), 'When?', { files, overrides: { llm } })
    expect([text, pieces]).to.deep.equal(['noon', 3])
  })

  it('reads an answer and thoughts in the time that their text takes, however many pieces they come in', async () => {
    const pieces = Array.from({ length: 30_000 }, () => 'so be it. ')
    for (const [begin, end] of [
      ['Thought: hm\nFinal Answer: ', ''],
      ['Thought: ', '\nFinal Answer: done'],
      ['Thought: \n', '\nFinal Answer: done'],
    ]) {
      const llm: LLM = {
        async *generate() {
          for (const text of [begin ?? '', ...pieces, end ?? '']) yield { type: 'text', text }
          yield { type: 'finish', reason: 'stop' }
        },
      }
      const spentMs = measureCpuTime()
      const { text } = await runAgent(agent(['x']), 'When?', { files, overrides: { llm } })
      expect(text).to.equal(end === '' ? pieces.join('') : 'done')
      expect(spentMs()).to.be.lessThan(2000)
    }
  })

  it('takes the mark of the final answer in pieces, with all that stands around it', async () => {
    const sent: string[] = []
    const pieces = ['Thought: x\n *', '*Final', ' Answer', ':', '**', ' ', '\n', '**no', 'on** ', '\nObservation: none']
    const llm: LLM = {
      async *generate() {
        for (const text of pieces) yield { type: 'text', text }
        yield { type: 'finish', reason: 'stop' }
      },
    }
    const onEvent = (event: RunEvent) => void (event.type === 'text' && sent.push(event.text))
    await runAgent(agent(['x']), 'When?', { files, overrides: { llm }, onEvent })
    expect(sent).to.deep.equal(['**no', 'on** ', '\nObservation: none'])
  })

  it('shows the model an unknown tool, unreadable arguments and a failing tool', async () => {
    const replies = [act('clok', '{}'), act('counter', 'now'), act('broken', '')]
    const { seen } = await ask(replies)
    expect(
      seen?.filter(({ content }) => content.startsWith('Observation')).map(({ content }) => content),
    ).to.deep.equal([
      "Observation: Error: there is no tool 'clok'. Tools: broken, clock, counter, slow.",
      'Observation: Error: Action Input must be a JSON object such as {}, and nothing else.',
      'Observation: Error: out of order',
    ])
  })

  it('shows thoughts and observations with show_reasoning', async () => {
    const { text } = await ask([act('clock', 'Lima'), 'Thought: I know.\nFinal Answer: noon'], { show_reasoning: true })
    expect(text).to.equal(`${act('clock', 'Lima')}\nObservation: noon in Lima\n\nnoon`)
  })

  it('stops after max_steps, and on repeated calls', async () => {
    const again = Array.from({ length: 9 }, () => act('clock', '{"city":"Lima"}'))
    const outcome = async (config: object) => {
      const { text, incompleteReason } = await ask(again, config)
      return [text, incompleteReason]
    }
    expect(await outcome({ max_steps: 2 })).to.deep.equal([
      'I stopped after 2 steps without coming to an answer.',
      'max_steps',
    ])
    expect((await outcome({}))[1]).to.equal('repeated_call')
  })

  it('parses the output of small models', () => {
    const action = { kind: 'action', tool: 'clock', input: '{"city":"Lima"}' }
    const steps: [string, object][] = [
      ['Action: clock\nAction Input: {"city":"Lima"}', action],
      ['**Thought:** hm\n**Action:** `clock`\n**Action Input:** {"city":"Lima"}', action],
      ['Action: clock\nAction Input: {"city":"Lima"}\nFinal Answer: noon', action],
      ['Thought: a\nFinal Answer: two\n\nparagraphs ', { kind: 'answer', answer: 'two\n\nparagraphs' }],
      ['**Final Answer:** noon', { kind: 'answer', answer: 'noon' }],
      ['It is noon.', { kind: 'answer', answer: 'It is noon.' }],
      ['Thought: I wonder', { kind: 'unclear' }],
      ['', { kind: 'unclear' }],
    ]
    for (const [written, step] of steps) expect(readStep(written)).to.deep.include(step)
  })

  it('parses arguments in a code fence, and plain text for a tool with one argument', () => {
    const clock = { name: 'clock', description: '', parameters: { properties: { city: { type: 'string' } } } }
    expect(readInput('```json\n{"city": "Lima"}\n```', clock)).to.deep.equal({ city: 'Lima' })
    expect(readInput('Lima', clock)).to.deep.equal({ city: 'Lima' })
    expect(readInput('None', clock)).to.deep.equal({})
    expect(() => readInput('Lima', undefined)).to.throw('must be a JSON object')
  })
})
