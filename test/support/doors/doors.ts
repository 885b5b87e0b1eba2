import { setTimeout as wait } from 'node:timers/promises'
import type { GivenAnswer, OpenedProject, PendingAnswer, PendingCall } from 'agent-host'
import { openSocket } from '../response-socket.ts'
import { type Json, openStream } from '../responses.ts'
import { post } from '../resumption-ways.ts'
import { LOOK_PARAMETERS } from './bank.ts'

/** Servers and a program on one store. */
export interface Ground {
  /** Address of a server: any of them. */
  readonly url: () => string
  readonly project: () => OpenedProject
}

/** Open call of a stored run, under its id. */
export interface Open {
  readonly id: string
  readonly call: PendingCall
}

export interface Answer extends Open {
  readonly answer: GivenAnswer
}

/** What came of a request: the run that it made, where the door or the store names it, or the reason of the refusal. */
export interface Outcome {
  readonly runId?: string | undefined
  readonly refusal?: string | undefined
}

/** Begun run that does not end by itself. */
export interface Hanging {
  readonly runId: string
  /** Client of the run leaves: at doors that abort it then. */
  readonly leave?: (() => void) | undefined
}

/** Door of the product: it translates the operations of a conversation into a protocol. */
export interface Door {
  readonly name: string
  /** Operations that it cannot do, each with the reason. */
  readonly cannot: Readonly<Record<string, string>>
  /** Begins a conversation, or goes on with the one that ends with a run. */
  say(ground: Ground, text: string, previousId: string | undefined): Promise<Outcome>
  answer(ground: Ground, runId: string, answers: readonly Answer[]): Promise<Outcome>
  cancel?(ground: Ground, runId: string): Promise<Outcome>
  hang?(ground: Ground, text: string, previousId: string | undefined): Promise<Hanging>
}

const AGENT = 'bank'
const LOOK = { name: 'look', description: 'Looks.', parameters: LOOK_PARAMETERS }
const RESPONSES_TOOL = { type: 'function', ...LOOK }
const CHAT_TOOL = { type: 'function', function: LOOK }

function unavailable(door: string, operation: string): never {
  throw new Error(`${door} cannot do '${operation}'`)
}

function refusalOf({ status, text }: { status: number; text: string }): string | undefined {
  return status === 200 ? undefined : `${status} ${text}`
}

/** Way of sending a request to `/responses`: returns the record, or the refusal. */
type Send = (ground: Ground, body: object) => Promise<{ record?: Json; refusal?: string | undefined }>

const sendPlain: Send = async ({ url }, body) => {
  const init = { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify(body) }
  const reply = await fetch(`${url()}/compat/responses`, init)
  const text = await reply.text()
  if (reply.status === 200) return { record: JSON.parse(text) }
  // Of a run that failed.
  const id = reply.headers.get('x-response-id')
  return id === null ? { refusal: `${reply.status} ${text}` } : { record: { id } }
}

const sendStreamed: Send = async ({ url }, body) => {
  const stream = await openStream(`${url()}/compat/responses`, { ...body, stream: true }, JSON_HEADERS)
  await stream.done
  if (stream.status !== 200) return { refusal: `${stream.status}` }
  const last = stream.events().findLast((event) => event !== '[DONE]')
  return { record: last.response }
}

const JSON_HEADERS = { 'content-type': 'application/json' }

const sendBackground: Send = async (ground, body) => sendPlain(ground, { ...body, background: true })

const sendBySocket: Send = async ({ url }, body) => {
  const client = await openSocket(url())
  try {
    const events = await client.ask(body)
    const last = events.at(-1)
    const created = events.find(({ type }) => type === 'response.created')
    if (!created) return { refusal: JSON.stringify(last ?? 'closed') }
    return { record: last?.response ?? created.response }
  } finally {
    client.socket.close()
  }
}

const NO_QUESTIONS = 'a question is no item of this API: its inbox answers it'
const NO_EDITS = 'mcp_approval_response has no arguments'
const ONE_DECISION = 'an inbox takes one decision at a time'

function responsesDoor(name: string, send: Send, hang?: Door['hang']): Door {
  const outcomeOf = async (ground: Ground, body: object): Promise<Outcome> => {
    const { record, refusal } = await send(ground, { model: AGENT, tools: [RESPONSES_TOOL], ...body })
    return { runId: record?.id, refusal }
  }
  const named = (previousId: string | undefined) =>
    previousId === undefined ? {} : { previous_response_id: previousId }
  return {
    name,
    cannot: {
      'answer ask': NO_QUESTIONS,
      edit: NO_EDITS,
      ...(hang ? {} : { hang: 'its client has no id to leave by' }),
    },
    say: (ground, text, previousId) => outcomeOf(ground, { input: text, ...named(previousId) }),
    answer: (ground, runId, answers) => outcomeOf(ground, { input: answers.map(toItem), previous_response_id: runId }),
    async cancel({ url }, runId) {
      return { refusal: refusalOf(await post(`${url()}/compat/responses/${runId}/cancel`, {})) }
    },
    ...(hang ? { hang } : {}),
  }
}

function toItem({ id, call, answer }: Answer): object {
  if (answer.kind === 'client_tool')
    return { type: 'function_call_output', call_id: call.callId, output: answer.result.text }
  if (answer.kind === 'question') return unavailable('responses', 'answer a question')
  return {
    type: 'mcp_approval_response',
    approval_request_id: id,
    approve: APPROVE[answer.decision] ?? answer.decision,
  }
}

const APPROVE: Readonly<Record<string, boolean>> = { approve: true, reject: false }

const hangStreamed: Door['hang'] = async ({ url }, text, previousId) => {
  const body = { model: AGENT, input: text, stream: true, ...(previousId ? { previous_response_id: previousId } : {}) }
  const stream = await openStream(`${url()}/compat/responses`, body, JSON_HEADERS)
  const gone = stream.done.catch(() => {})
  for (;;) {
    const created = stream.events().find(({ type }) => type === 'response.created')
    if (created) {
      const leave = () => {
        stream.leave()
        void gone
      }
      return { runId: created.response.id, leave }
    }
    await wait(5)
  }
}

const hangInBackground: Door['hang'] = async (ground, text, previousId) => {
  const body = { model: AGENT, input: text, ...(previousId ? { previous_response_id: previousId } : {}) }
  const { record } = await sendBackground(ground, body)
  return { runId: record.id }
}

const hangBySocket: Door['hang'] = async ({ url }, text, previousId) => {
  const client = await openSocket(url())
  const body = { model: AGENT, input: text, ...(previousId ? { previous_response_id: previousId } : {}) }
  client.send({ type: 'response.create', ...body })
  const created = await client.next()
  return { runId: created.response.id, leave: () => client.socket.terminate() }
}

/** Adapters of packages, as they use the runs of a project. */
const RUNS: Door = {
  name: 'runs',
  cannot: {},
  async say({ project }, text, previousId) {
    const runs = project().runs.of('')
    return attempt(async () => {
      const messages = [{ role: 'user' as const, content: text }]
      return (await runs.start({ agent: AGENT, messages, previousId, clientTools: [LOOK] })).id
    })
  },
  answer: ({ project }, _runId, answers) =>
    attempt(async () => {
      const given = new Map(answers.map(({ id, answer }) => [id, answer]))
      return (await project().runs.of('').answer(given, 'somebody')).continuedBy ?? undefined
    }),
  cancel: ({ project }, runId) =>
    attempt(async () => {
      await project().runs.of('').cancel(runId)
      return undefined
    }),
  async hang({ project }, text, previousId) {
    const messages = [{ role: 'user' as const, content: text }]
    return { runId: (await project().runs.of('').start({ agent: AGENT, messages, previousId })).id }
  },
}

const PROJECT: Door = {
  name: 'project',
  cannot: {
    continue: '`project.run` takes messages by value',
    cancel: 'the program cancels by `project.runs`',
    hang: 'a run of a program that does not wait is not stored',
  },
  say: ({ project }, text) =>
    attempt(async () => {
      const { runId, status } = await project().run(AGENT, text, { clientTools: [LOOK] })
      return status === 'waiting' ? `resp_${runId}` : undefined
    }),
  answer: ({ project }, runId, answers) =>
    attempt(async () => {
      const given = answers.map(({ call, answer }): PendingAnswer => ({ ...answer, callId: call.callId }))
      return `resp_${(await project().resume(runId.slice('resp_'.length), given)).runId.replace('resp_', '')}`
    }),
}

async function attempt(work: () => Promise<string | undefined>): Promise<Outcome> {
  try {
    return { runId: await work() }
  } catch (error) {
    return { refusal: String(error) }
  }
}

function chatDoor(name: string, more: object): Door {
  const send = async ({ url }: Ground, messages: readonly object[]): Promise<Outcome & { calls: Json[] }> => {
    const body = { model: AGENT, messages, tools: [CHAT_TOOL], metadata: { approvals: 'tool' }, ...more }
    const reply = await post(`${url()}/compat/chat/completions`, body)
    const refused = { refusal: refusalOf(reply) ?? (/"error":/.test(reply.text) ? reply.text : undefined), calls: [] }
    if (refused.refusal !== undefined) return refused
    const calls = readChatCalls(reply.text)
    return { runId: runOfCall(calls[0]?.id), calls }
  }
  return {
    name,
    cannot: {
      continue: 'chat sends its messages by value: it names no run',
      cancel: 'chat has no such request',
      hang: 'a run of chat that does not wait is not stored',
      mix: 'a step with calls of both kinds has nowhere to keep them: only those of the client go out',
    },
    async say(ground, text) {
      const messages = [{ role: 'user', content: text }]
      const { calls, ...said } = await send(ground, messages)
      const [look] = calls.filter(({ function: { name } }) => name === 'look')
      if (!look) return said
      // By value: nothing of it is stored.
      const { n } = JSON.parse(look.function.arguments)
      const output = { role: 'tool', tool_call_id: look.id, content: `seen ${n}` }
      return send(ground, [...messages, { role: 'assistant', content: null, tool_calls: [look] }, output])
    },
    answer(ground, _runId, answers) {
      const calls = answers.map(({ id, call }) => ({
        id,
        type: 'function',
        function: {
          name: call.kind === 'client_tool' ? call.name : 'request_approval',
          arguments: JSON.stringify(call.arguments),
        },
      }))
      const results = answers.map(({ id, answer }) => ({
        role: 'tool',
        tool_call_id: id,
        content: answer.kind === 'client_tool' ? answer.result.text : JSON.stringify(toDecision(answer)),
      }))
      const asked = { role: 'user', content: 'as before' }
      return send(ground, [asked, { role: 'assistant', content: null, tool_calls: calls }, ...results]).then(
        // It may wait again: the store says which run goes on.
        ({ refusal }) => ({ refusal }),
      )
    },
  }
}

function readChatCalls(text: string): Json[] {
  if (!text.startsWith('data:')) return JSON.parse(text).choices[0].message.tool_calls ?? []
  const chunks = text.split('\n\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
  return chunks.flatMap(({ choices }) => choices?.[0]?.delta?.tool_calls ?? [])
}

function runOfCall(id: string | undefined): string | undefined {
  return id?.startsWith('mcpr_') ? `resp_${id.slice('mcpr_'.length, -4)}` : undefined
}

function toDecision(answer: GivenAnswer): object {
  if (answer.kind === 'question') return { decision: 'answer', answer: answer.answers.at(-1) }
  if (answer.kind === 'client_tool') return unavailable('an inbox', 'answer the call of a client')
  const { decision, arguments: args } = answer
  return { decision, ...(args ? { arguments: args } : {}) }
}

const INBOX: Door = {
  name: 'inbox',
  cannot: {
    begin: 'an inbox decides, and says nothing',
    continue: 'an inbox decides, and says nothing',
    cancel: 'an inbox decides, and cancels nothing',
    hang: 'an inbox decides, and says nothing',
    'answer look': "calls of a client's tool are not in the inbox",
    both: ONE_DECISION,
  },
  say: () => unavailable('inbox', 'say'),
  async answer({ url }, _runId, answers) {
    const [first] = answers
    if (!first || answers.length > 1) return unavailable('inbox', 'several decisions')
    const reply = await post(`${url()}/compat/approvals/${first.id}`, toDecision(first.answer))
    return { refusal: refusalOf(reply) }
  },
}

const MCP_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}

/** MCP without a handshake: the client sends its state again. */
class McpDoor implements Door {
  readonly name = 'mcp'
  readonly cannot = {
    continue: 'a call of MCP begins a conversation',
    cancel: 'a call of MCP that waits is not open: its client gives up with no answer',
    hang: 'a call of MCP that does not wait is not stored',
    edit: 'forms of MCP accept or decline',
    look: 'clients of MCP have no tools that agents call',
    mix: 'clients of MCP have no tools that agents call',
    'answer look': 'clients of MCP have no tools that agents call',
    'of others': 'a client of MCP has the state of its own calls alone',
  }
  /** Arguments of the calls that wait, and their states, by the runs. */
  readonly #waiting = new Map<string, { readonly message: string; readonly state: string }>()

  async say(ground: Ground, text: string): Promise<Outcome> {
    const { result, error } = await this.#call(ground, text, {})
    if (error || result.isError) return { refusal: JSON.stringify(error ?? result) }
    return { runId: await this.#keep(ground, text, result) }
  }

  /** Tells whether a run is one of its own calls. */
  knows(runId: string): boolean {
    return this.#waiting.has(runId)
  }

  async answer(ground: Ground, runId: string, answers: readonly Answer[]): Promise<Outcome> {
    const { message, state } = this.#waiting.get(runId) ?? unavailable('mcp', 'answer what it has not asked')
    const inputResponses = Object.fromEntries(answers.map(({ call, answer }) => [call.callId, toResponse(answer)]))
    const { result, error } = await this.#call(ground, message, { requestState: state, inputResponses })
    if (error || result.isError) return { refusal: JSON.stringify(error ?? result) }
    return { runId: await this.#keep(ground, message, result) }
  }

  async #keep(
    { project }: Ground,
    message: string,
    { requestState, inputRequests }: Json,
  ): Promise<string | undefined> {
    if (requestState === undefined) return undefined
    const [callId] = Object.keys(inputRequests)
    for (let after: string | undefined; ; ) {
      const { waiting, hasMore } = await project()
        .runs.of('')
        .listWaiting({ limit: 1000, ...(after ? { after } : {}) })
      const found = waiting.findLast(({ call }) => call.callId === callId)
      if (found) {
        this.#waiting.set(found.runId, { message, state: requestState })
        return found.runId
      }
      if (!hasMore) throw new Error(`No call '${callId}' waits in the inbox.`)
      after = waiting.at(-1)?.id
    }
  }

  async #call({ url }: Ground, message: string, more: object): Promise<Json> {
    const params = { name: AGENT, arguments: { message }, _meta: MCP_META, ...more }
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': AGENT,
    }
    const { text } = await post(`${url()}/mcp`, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, { headers })
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
  }
}

function toResponse(answer: GivenAnswer): object {
  if (answer.kind === 'question') return { action: 'accept', content: { answer: answer.answers.at(-1) } }
  if (answer.kind === 'client_tool') return unavailable('mcp', 'answer the call of a client')
  return ACTIONS[answer.decision] ?? { action: answer.decision }
}

const ACTIONS: Readonly<Record<string, object>> = {
  approve: { action: 'accept', content: {} },
  reject: { action: 'decline' },
}

/** All doors. One of MCP remembers the states of its calls, as its client does. */
export function makeDoors(): readonly Door[] {
  return [
    responsesDoor('responses', sendPlain),
    responsesDoor('responses, streamed', sendStreamed, hangStreamed),
    responsesDoor('responses, background', sendBackground, hangInBackground),
    responsesDoor('responses, WebSocket', sendBySocket, hangBySocket),
    chatDoor('chat', {}),
    chatDoor('chat, streamed', { stream: true }),
    RUNS,
    new McpDoor(),
    PROJECT,
    INBOX,
  ]
}

/** Tells whether a door has the state of a waiting run; all but MCP need only its name. */
export function canName(door: Door, runId: string): boolean {
  return !(door instanceof McpDoor) || door.knows(runId)
}
