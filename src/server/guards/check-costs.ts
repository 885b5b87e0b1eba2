import { HostError } from '../../errors.ts'
import type { AgentHost } from '../../host/host.ts'
import { isCalled } from '../../protocols/callable-agent.ts'
import type { Log } from '../../protocols/log.ts'
import type { KeysAndTenants } from './followed-keys.ts'

/**
 * Checks that each model of the agents whose cost is limited has a price. Nothing is loaded where no cost is.
 *
 * @throws HostError `OPTION_INVALID` that names holder, agent and model
 */
export async function checkCosts({ keys, tenants }: KeysAndTenants, host: AgentHost, log: Log): Promise<void> {
  const ofKeys = keys.map(({ principal: { name, limits, agents } }) => ({ holder: `key '${name}'`, limits, agents }))
  const ofTenants = [...tenants].map(([name, limits]) => ({ holder: `tenant '${name}'`, limits, agents: undefined }))
  const limited = [...ofKeys, ...ofTenants].filter(({ limits }) => limits?.cost_per_day !== undefined)
  if (limited.length === 0) return
  const { ModelPrices } = await import('../../limits/model-prices.ts')
  const prices = new ModelPrices(host.projectDir, log)
  for (const { holder, agents } of limited) {
    for (const { id } of host.list()) {
      if (agents && !isCalled({ name: id }, agents)) continue
      for (const model of modelsOf(id, host)) {
        if ((await prices.costOf({ inputTokens: 1 }, model)) !== null) continue
        const message = `The ${holder} has a limit of cost_per_day, and the model '${model}' of agent '${id}' has no price.`
        throw new HostError('OPTION_INVALID', message, { suggestions: [prices.advice(model)] })
      }
    }
  }
}

function modelsOf(id: string, host: AgentHost): string[] {
  const modules = host.describe(id)?.modules ?? []
  return modules.flatMap(({ provides, config: { model } }) =>
    provides.includes('LLM') && typeof model === 'string' ? [model] : [],
  )
}
