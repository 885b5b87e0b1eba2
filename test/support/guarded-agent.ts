import {
  type AgentEvent,
  AgentHost,
  type LLM,
  type LLMPart,
  type LLMRequest,
  type Message,
  type RunEvent,
  type RunOptions,
  type RunResult,
} from 'agent-host'
import { fakeLLM } from './fake-llm.ts'

/** Agent with guards, and what it was heard to say and do. */
export interface GuardedAgent {
  readonly host: AgentHost
  /** Requests of its model, those of judges included. */
  readonly requests: readonly LLMRequest[]
  /** Texts that left it, piece by piece. */
  readonly sent: string[]
  /** Calls of guards, as the trace shows them: module, method and verdict. */
  readonly calls: string[]
  run(messages: string | readonly Message[], options?: RunOptions): Promise<RunResult>
}

/** An agent with these guards, whose model gives these answers one after the other. */
export async function makeGuarded(
  guards: readonly object[],
  answers: readonly (readonly LLMPart[])[],
  { observed = true, environment = {} }: { observed?: boolean; environment?: Record<string, string> } = {},
): Promise<GuardedAgent> {
  const host = new AgentHost({ environment })
  const model = fakeLLM(...answers)
  const requests: LLMRequest[] = []
  const llm: LLM = {
    generate(request, run) {
      // An orchestrator goes on with the same array.
      requests.push({ ...request, messages: [...request.messages] })
      return model.generate(request, run)
    },
  }
  const sent: string[] = []
  const calls: string[] = []
  if (observed) host.onEvent((event) => void calls.push(...describeGuardCall(event)))
  const modules = [
    { id: 'llm', module: 'llm/mock', config: { replies: ['unused'] } },
    { id: 'loop', module: 'orchestrator/tool-loop' },
    ...guards,
  ]
  await host.register({ id: 'guarded', modules })
  const onEvent = (event: RunEvent) => void (event.type === 'text' && sent.push(event.text))
  return {
    host,
    requests,
    sent,
    calls,
    run: (messages, options) => host.run('guarded', messages, { onEvent, overrides: { llm }, ...options }),
  }
}

function describeGuardCall({ event_type, module_id, method_name, result }: AgentEvent): string[] {
  if (event_type !== 'result' || !method_name.startsWith('check')) return []
  const verdicts = [result].flat() as { action: string }[]
  return [`${module_id}.${method_name}: ${verdicts.map(({ action }) => action).join(' ')}`]
}
