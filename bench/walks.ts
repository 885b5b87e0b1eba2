import { CHAT, callTool, chat, LIST_AGENTS, RESPONSES, response } from './bodies.ts'

/** Sends a request and reads its answer to the end. */
export type Post = (path: string, body: object) => Promise<string>

/** What one client does, again and again. */
export interface Walk {
  readonly title: string
  /** What has to be there before; not counted. */
  readonly prepare?: (post: Post) => Promise<string>
  /** @param prepared what `prepare` has returned */
  readonly go: (post: Post, prepared: string) => Promise<unknown>
  /** Whether something is left to do after the answer. */
  readonly goesOn?: boolean
}

/** Requests whose functions are pinned. */
export const REQUESTS: readonly Walk[] = [
  { title: 'chat JSON', go: (post) => post(CHAT, chat({})) },
  { title: 'chat SSE', go: (post) => post(CHAT, chat({ stream: true })) },
  { title: 'unstored response', go: (post) => post(RESPONSES, response({ store: false })) },
  { title: 'stored response', go: (post) => post(RESPONSES, response({})) },
  { title: 'MCP tools/call', go: (post) => post('/mcp', callTool('twenty')) },
  { title: 'GraphQL list_agents', go: (post) => post('/api/ui/graphql', LIST_AGENTS) },
]

/** Longer ways: these are printed alone. */
export const LONGER_WALKS: readonly Walk[] = [
  { title: 'stored stream', go: (post) => post(RESPONSES, response({ stream: true })) },
  { title: 'background', go: (post) => post(RESPONSES, response({ background: true })), goesOn: true },
  { title: "client's tool, and its result", go: answerCall },
  {
    title: 'decision that continues, and its run',
    prepare: findApproval,
    go: (post, id) => post(`/compat/approvals/${id}`, { decision: 'approve' }),
    goesOn: true,
  },
]

interface Created {
  readonly id: string
  readonly output: readonly { readonly id: string; readonly type: string; readonly call_id: string }[]
}

async function answerCall(post: Post): Promise<void> {
  const caller = { model: 'caller', tools: [{ type: 'function', name: 'clock', parameters: { type: 'object' } }] }
  const { id, output } = JSON.parse(await post(RESPONSES, response(caller))) as Created
  const call_id = output.find(({ type }) => type === 'function_call')?.call_id
  const result = { type: 'function_call_output', call_id, output: '12:00' }
  await post(RESPONSES, { ...caller, previous_response_id: id, input: [result] })
}

async function findApproval(post: Post): Promise<string> {
  const { id } = JSON.parse(await post('/compat/conversations', {})) as Created
  const { output } = JSON.parse(await post(RESPONSES, response({ model: 'asking', conversation: id }))) as Created
  return output.find(({ type }) => type === 'mcp_approval_request')?.id ?? ''
}
