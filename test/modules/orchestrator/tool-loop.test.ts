import type { FinishReason, LLM, LLMPart, LLMRequest, Message, Run, ToolProvider } from 'agent-host'
import { expect } from 'chai'
import toolLoop from '../../../modules/orchestrator/tool-loop.ts'
import { type FakeRun, makeContext, makeRun, says } from '../../support/fake-run.ts'

type Reply = string | { call?: [name: string, args: object][]; text?: string; finish?: FinishReason }

/** A model that gives these replies, and remembers what it was asked. */
function makeModel(replies: Reply[]) {
  const asked: LLMRequest[] = []
  const llm: LLM = {
    async *generate(request): AsyncGenerator<LLMPart> {
      const reply = replies[asked.length] ?? 'nothing more'
      asked.push({ ...request, messages: [...request.messages] })
      const { text = '', call = [], finish } = typeof reply === 'string' ? { text: reply } : reply
      for (const word of text.match(/\s*\S+/g) ?? []) yield { type: 'text', text: word }
      for (const [index, [name, args]] of call.entries()) {
        yield {
          type: 'tool_call',
          call: { id: `c${asked.length}${index}`, name, arguments: args as Record<string, unknown> },
        }
      }
      yield { type: 'usage', usage: { inputTokens: 1, outputTokens: 2 } }
      yield { type: 'finish', reason: finish ?? (call.length > 0 ? 'tool_calls' : 'stop') }
    },
  }
  return { llm, asked }
}

const tools = (names: string[], execute: (name: string, args: unknown, run: Run) => unknown): ToolProvider => ({
  listTools: () => names.map((name) => ({ name, description: name, parameters: { type: 'object' } })),
  executeTool: async (name, args, run) => ({ text: String(await execute(name, args, run)) }),
})

async function answer(
  replies: Reply[],
  providers: ToolProvider[],
  facts: { config?: object; run?: FakeRun; history?: Message[] } = {},
) {
  const { llm, asked } = makeModel(replies)
  const { config = {}, run = makeRun(), history = [says('hi')] } = facts
  const said: string[] = []
  const response = {
    respondText: (text: string) => void said.push(text),
    respondReasoning() {},
    respondImage() {},
    respondAudio() {},
    respondFile() {},
    getResponse: () => ({ text: '', attachments: [] }),
  }
  const conversation = { getHistory: () => [...history], addMessage() {}, clearHistory() {} }
  const settings = { system_prompt: '', max_steps: 10, max_repeats: 3, ...config }
  const loop = await toolLoop.create(
    { llm, tools: providers, history: conversation, response },
    settings,
    makeContext({ providersFor: () => ['one', 'two'] }),
  )
  await loop.handleText('hi', run)
  return { said, asked, run }
}

describe('orchestrator/tool-loop', () => {
  it("streams the model's text as it arrives", async () => {
    const { said, run } = await answer(['one two'], [])
    expect(said).to.deep.equal(['one', ' two'])
    expect(run.usage).to.deep.equal([{ inputTokens: 1, outputTokens: 2 }])
  })

  it("puts the system prompt and the run's instructions before the conversation", async () => {
    const run = makeRun({ instructions: 'be brief' })
    const { asked } = await answer(['ok'], [], { config: { system_prompt: 'be kind' }, run })
    expect(asked[0]?.messages).to.deep.equal([{ role: 'system', content: 'be kind\n\nbe brief' }, says('hi')])
  })

  it('calls tools in parallel, and returns their results in the order of the calls', async () => {
    const begun: string[] = []
    let release = () => {}
    const both = new Promise<void>((resolve) => {
      release = resolve
    })
    const provider = tools(['a', 'b'], async (name) => {
      begun.push(name)
      if (begun.length === 2) release()
      await both
      return `${name} done`
    })
    const { asked, said } = await answer(
      [
        {
          text: 'wait',
          call: [
            ['a', { n: 1 }],
            ['b', {}],
          ],
        },
        'fine',
      ],
      [provider],
    )
    expect(asked[1]?.messages.slice(1)).to.deep.equal([
      {
        role: 'assistant',
        content: 'wait',
        toolCalls: [
          { id: 'c10', name: 'a', arguments: { n: 1 } },
          { id: 'c11', name: 'b', arguments: {} },
        ],
      },
      { role: 'tool', content: 'a done', toolCallId: 'c10' },
      { role: 'tool', content: 'b done', toolCallId: 'c11' },
    ])
    expect(said.join('')).to.equal('wait\n\nfine')
  })

  it("shows the model a tool's error, and an unknown tool name", async () => {
    const provider = tools(['a'], () => {
      throw new Error('out of order')
    })
    const { asked } = await answer(
      [
        {
          call: [
            ['a', {}],
            ['x', {}],
          ],
        },
        'sorry',
      ],
      [provider],
    )
    expect(asked[1]?.messages.slice(-2)).to.deep.equal([
      { role: 'tool', content: 'out of order', toolCallId: 'c10', isError: true },
      { role: 'tool', content: "there is no tool 'x'. Tools: a.", toolCallId: 'c11', isError: true },
    ])
  })

  it('shows the model a failure that a tool returns', async () => {
    const provider: ToolProvider = {
      ...tools(['a'], () => ''),
      executeTool: async () => ({ text: 'no such city', isError: true }),
    }
    const { asked } = await answer([{ call: [['a', {}]] }, 'sorry'], [provider])
    expect(asked[1]?.messages.at(-1)).to.deep.include({ content: 'no such city', isError: true })
  })

  it('stops after max_steps with an explanation', async () => {
    const again = { call: [['a', {}]] as [string, object][] }
    const { said, asked, run } = await answer([again, again, again], [tools(['a'], () => 'x')], {
      config: { max_steps: 2 },
    })
    expect(run.incomplete).to.deep.equal(['max_steps'])
    expect(asked).to.have.lengthOf(2)
    expect(said).to.deep.equal(['I stopped after 2 steps without coming to an answer.'])
  })

  it('marks the answer only if the model stopped at its own limit', async () => {
    const reasons: [FinishReason, string[]][] = [
      ['length', ['max_output_tokens']],
      ['content_filter', ['content_filter']],
      ['stop', []],
    ]
    for (const [finish, incomplete] of reasons) {
      const { run, said } = await answer([{ text: 'cut', finish }], [])
      expect([said, run.incomplete]).to.deep.equal([['cut'], incomplete])
    }
  })

  it('rejects two tools with the same name', async () => {
    const failure = await answer(['x'], [tools(['a', 'b'], () => ''), tools(['c', 'a'], () => '')]).catch(
      (error: Error) => error.message,
    )
    expect(failure).to.match(/^The modules 'one' and 'two' both have a tool 'a'\. Rename it in one of them/)
    const twice = await answer(['x'], [tools(['a', 'a'], () => '')]).catch((error: Error) => error.message)
    expect(twice).to.match(/^The module 'one' lists the tool 'a' twice\./)
  })

  it('ends with the run instead of reporting the abort to the model', async () => {
    const run = makeRun()
    const provider = tools(['a'], () => {
      run.abort(new Error('enough'))
      throw new Error('stopped')
    })
    const failure = await answer([{ call: [['a', {}]] }, 'on'], [provider], { run }).catch(
      (error: Error) => error.message,
    )
    expect(failure).to.equal('enough')
  })
})
