import { isUser, type Message } from '../../protocols/message.ts'
import type { ToolDefinition } from '../../protocols/tool-definition.ts'
import { reachableModules } from '../../wiring/reachable-modules.ts'
import type { EntryPoint, WiredModule } from '../../wiring/wiring.ts'
import type { AgentRun } from '../agent-run.ts'
import { findSchemaFault } from '../checks/check-schema.ts'
import { findSlowTool } from '../checks/check-text.ts'

/** Inputs that an agent takes at one of its entry points, beside text. */
export interface Capabilities {
  /** Media types of the attachments that it takes, such as `image/*`. */
  readonly attachments: readonly string[]
  /** True when it passes the tools of a client to its model. */
  readonly takesClientTools: boolean
  /** True if it may have tools of its own. */
  readonly hasTools: boolean
  /** True if one of its models accepts a reasoning effort, and may show its reasoning. */
  readonly reasons: boolean
  /** Tells whether attachments of a media type are among them. */
  takes(mediaType: string): boolean
}

/** Checks requests against the capabilities of an agent's entry points. */
export class AgentCapabilities implements Capabilities {
  readonly attachments: readonly string[]
  readonly takesClientTools: boolean
  readonly hasTools: boolean
  readonly reasons: boolean

  constructor({ attachments, takesClientTools, hasTools, reasons }: Omit<AgentCapabilities, 'check' | 'takes'>) {
    this.attachments = attachments
    this.takesClientTools = takesClientTools
    this.hasTools = hasTools
    this.reasons = reasons
  }

  /**
   * Checks a request against them.
   *
   * @throws HostError `REQUEST_INVALID` for attachments that no module would see, a tool choice that cannot be met, tools of one
   *   name or with an expression that takes too long, and a schema that cannot be used
   */
  check(run: AgentRun, messages: readonly Message[], isContinued: boolean): void {
    const { toolChoice, responseSchema } = run.requestOptions
    const fault = responseSchema && findSchemaFault(responseSchema, run.checkTime)
    if (fault !== undefined) throw run.refuse(`The schema of the answer cannot be used: ${fault}`)
    const double = findDouble(run.clientTools)
    if (double !== undefined) throw run.refuse(`tools: two of them have the name '${double}'.`, 'tools')
    const slow = findSlowTool(run.clientTools, run.checkTime)
    if (slow !== undefined) {
      throw run.refuse(`tools: the regular expression of '${slow}' takes too long to check a text.`, 'tools')
    }
    const isDemanded = toolChoice === 'required' || typeof toolChoice === 'object'
    if (isDemanded && run.clientTools.length > 0 && !this.takesClientTools) {
      throw run.refuse(`tool_choice: agent '${run.agentId}' cannot call the tools of a client.`, 'tool_choice')
    }
    const handled = messages.findLast(isUser)
    if (isContinued || handled?.role !== 'user') return
    const refused = handled.attachments?.find(({ mediaType }) => !this.takes(mediaType))
    if (refused) {
      const taken =
        this.attachments.length > 0 ? `it takes text and ${this.attachments.join(', ')}` : 'it takes only text'
      const message = `The last user message has an attachment of the type '${refused.mediaType}', and agent '${run.agentId}' does not take that: ${taken}.`
      throw run.refuse(message)
    }
  }

  takes(mediaType: string): boolean {
    const wildcard = `${mediaType.split('/')[0]}/*`
    return this.attachments.some((type) => type === '*/*' || type === wildcard || type === mediaType)
  }
}

/** Message handlers beside that for text, with the media types that each takes. */
const MEDIA_HANDLERS: Readonly<Record<string, string>> = Object.freeze({
  ImageMessageHandler: 'image/*',
  AudioMessageHandler: 'audio/*',
  VideoMessageHandler: 'video/*',
})

export function capabilitiesOf(entryPoint: EntryPoint, modules: readonly WiredModule[]): AgentCapabilities {
  const reached = reachableModules(entryPoint, modules)
  const takesClientTools = reached.some(
    ({ scope, links }) =>
      scope === 'instance' && links.some(({ protocol, arity }) => protocol === 'ToolProvider' && arity === 'many'),
  )
  const hasTools = reached.some(({ module }) => module.provides.some(({ name }) => name === 'ToolProvider'))
  const reasons = reached.some(({ module }) => module.reasons)
  return new AgentCapabilities({ attachments: attachmentsOf(entryPoint, reached), takesClientTools, hasTools, reasons })
}

function attachmentsOf({ handlers }: EntryPoint, reached: readonly WiredModule[]): readonly string[] {
  const handled = Object.keys(handlers).flatMap((protocol) => MEDIA_HANDLERS[protocol] ?? [])
  const entry = reached.find(({ id }) => id === handlers.TextMessageHandler)
  const declared = entry?.module.attachments ?? []
  const models = reached.filter(({ module }) => module.provides.some(({ name }) => name === 'LLM'))
  const ofModels = models.flatMap(({ module }) => (module.attachments === 'model' ? [] : module.attachments))
  return [...new Set([...handled, ...(declared === 'model' ? ofModels : declared)])]
}

function findDouble(tools: readonly ToolDefinition[]): string | undefined {
  if (tools.length < 2) return undefined
  const seen = new Set<string>()
  return tools.find(({ name }) => seen.size === seen.add(name).size)?.name
}
