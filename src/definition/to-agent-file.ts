import type { AgentDefinition } from './definition.ts'

/** An agent file with this content, as plain data: reading it gives an equal definition. */
export function toAgentFile(definition: AgentDefinition): Record<string, unknown> {
  const { id, description, examples, toolMetadata, runPolicy, schedules, triggers, modules, exchange } = definition
  const { requestOptions, isRestartSafe, approvalTtl } = runPolicy
  return {
    id,
    ...(description === '' ? {} : { description }),
    ...(examples.length === 0 ? {} : { examples }),
    ...toolMetadata,
    ...(requestOptions === 'allow' ? {} : { request_options: requestOptions }),
    ...(isRestartSafe ? { restart: 'safe' } : {}),
    ...(approvalTtl === undefined ? {} : { approval_ttl: approvalTtl }),
    ...(schedules ? { schedules } : {}),
    ...(triggers ? { triggers } : {}),
    modules,
    ...(exchange.length === 0
      ? {}
      : {
          exchange: exchange.map(({ isList, provider, ...entry }) => ({
            ...entry,
            provider: isList ? provider : provider[0],
          })),
        }),
  }
}
