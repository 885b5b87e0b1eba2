import { strict as assert } from 'node:assert'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ServedAdapter } from 'agent-host/testing'
import { serve } from './ag-ui-project.ts'

const CLIENT = fileURLToPath(new URL('client-turns.js', import.meta.url))
const CHILD = fileURLToPath(new URL('served-child.ts', import.meta.url))
const WEATHER = { name: 'weather', description: 'Tells the weather.', parameters: { type: 'object' } }

interface ClientMessage {
  readonly role: string
  readonly content: string
  readonly toolCalls?: readonly { readonly id: string; readonly function: object }[]
}

/** Client as it is after a turn. */
interface Client {
  readonly threadId: string
  readonly messages: readonly ClientMessage[]
  readonly state: { readonly count: number }
  readonly pendingInterrupts: readonly { readonly id: string; readonly reason: string }[]
}

/** Returns the next message of a process. @throws Error when it ends instead */
async function answerOf<T>(child: ChildProcess): Promise<T> {
  const listening = new AbortController()
  const { signal } = listening
  const ended = once(child, 'exit', { signal }).then(([code]) => assert.fail(`The process ended with ${code}.`))
  try {
    const [answer] = await Promise.race([once(child, 'message', { signal }), ended])
    return answer
  } finally {
    listening.abort()
  }
}

const say = (content: string) => [{ id: `u ${content}`, role: 'user', content }]
const textOf = ({ messages }: Client) => messages.at(-1)?.content

describe('@ag-ui/client', () => {
  let served: ServedAdapter
  let url: string
  let client: ChildProcess
  const children: ChildProcess[] = []
  before(async () => {
    served = await serve()
    url = `${await served.server.listen()}/ag-ui`
    client = fork(CLIENT, { execArgv: [] })
    children.push(client)
  })
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await served[Symbol.asyncDispose]()
  })

  /** Adds messages to a client, and lets it run one turn. */
  async function turn(url: string, added: readonly object[], before?: Client, options: object = {}): Promise<Client> {
    const initialMessages = [...(before?.messages ?? []), ...added]
    client.send({ url, threadId: before?.threadId, initialMessages, initialState: before?.state, ...options })
    return answerOf<Client>(client)
  }

  it('reads texts, turn after turn', async () => {
    const first = await turn(`${url}/tools`, say('one'))
    const second = await turn(`${url}/tools`, say('two'), first)
    assert.deepEqual(
      second.messages.map(({ content }) => content),
      ['one', '1 messages, no context', 'two', '3 messages, no context'],
    )
  })

  it('answers calls of its own tools, beside those of the agent', async () => {
    const options = { run: { tools: [WEATHER] } }
    const first = await turn(`${url}/tools`, say('weather Lima own Rome'), undefined, options)
    const calls = first.messages.flatMap(({ toolCalls = [] }) => toolCalls)
    assert.deepEqual(
      calls.map((call) => call.function),
      [
        { name: 'weather', arguments: '{"city":"Lima"}' },
        { name: 'own', arguments: '{"city":"Rome"}' },
      ],
    )
    const result = { id: 'result', role: 'tool', toolCallId: calls[0]?.id, content: 'sunny' }
    const second = await turn(`${url}/tools`, [result], first, options)
    assert.equal(textOf(second), 'own: own Rome; weather: sunny')
  })

  it('keeps the state of the agent', async () => {
    const first = await turn(`${url}/counter`, say('hi'), undefined, { initialState: { count: 1 } })
    assert.deepEqual(first.state, { count: 3, seen: { hi: true, 'a/b': 1 } })
    assert.equal((await turn(`${url}/counter`, say('again'), first)).state.count, 5)
  })

  it('aborts a run, and goes on', async () => {
    const first = await turn(`${url}/slow`, say('wait'), undefined, { aborts: true })
    assert.equal(textOf(first), 'begun')
    assert.equal(textOf(await turn(`${url}/slow`, say('go on'), first)), 'begun')
  })

  it('answers an interrupt on another server, after the first was killed', async () => {
    const child = fork(CHILD, [served.dir])
    children.push(child)
    const first = await turn(`${await answerOf<string>(child)}/ag-ui/tools`, say('pay Lima own Rome'))
    const [interrupt] = first.pendingInterrupts
    assert.equal(interrupt?.reason, 'tool_call')
    child.kill('SIGKILL')
    await once(child, 'exit')
    const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: { approved: true } }]
    const second = await turn(`${url}/tools`, [], first, { run: { resume } })
    assert.equal(textOf(second), 'own: own Rome; pay: pay Lima')
    assert.deepEqual(second.pendingInterrupts, [])
  })
})
