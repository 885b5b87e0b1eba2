import type { AgentHost } from '../../../host/host.ts'
import type { AgentInfo } from '../../../run/agent/agent-info.ts'
import type { DescribedModel, ModelEntry } from './schema.ts'

/** Entry of each agent, one each. */
export function listModelEntries(host: AgentHost): ModelEntry[] {
  return host.list().map(({ id }) => toModelEntry(id))
}

/** Entry of each agent and entry point, with its capabilities. */
export function listDescribedModels(host: AgentHost): DescribedModel[] {
  return host.list().flatMap((agent) => namesOf(agent).map((name) => toDescribedModel(host, name)))
}

export function toModelEntry(id: string): ModelEntry {
  return { id, object: 'model', created: 0, owned_by: 'agent-host' }
}

/** @throws HostError `AGENT_NOT_FOUND` */
export function toDescribedModel(host: AgentHost, name: string): DescribedModel {
  const { agent, capabilities } = host.resolve(name)
  const { attachments, takesClientTools, reasons } = capabilities
  const takes = (pattern: RegExp) => attachments.some((mediaType) => pattern.test(mediaType))
  return {
    ...toModelEntry(name),
    description: agent.description,
    capabilities: {
      tools: takesClientTools,
      reasoning: reasons,
      images: takes(/^(image|\*)\//),
      audio: takes(/^(audio|\*)\//),
      files: takes(/^(application|text|\*)\//),
    },
  }
}

function namesOf({ id, entryPoints }: AgentInfo): string[] {
  return [id, ...entryPoints.map((entryPoint) => `${id}/${entryPoint}`)]
}
