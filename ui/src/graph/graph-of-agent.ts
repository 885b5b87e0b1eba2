import { CALLABLE, type ExchangeRow, type ModuleSummary } from './graph-layout.ts'

/** Agent as its graph needs it. */
interface DrawnAgent {
  readonly modules: readonly (ModuleSummary & { readonly config: unknown })[]
  readonly exchange: readonly ExchangeRow[]
  readonly calls: readonly { readonly module: string; readonly agent: string }[]
}

/** The wiring with the agents that it can call, and without models that a guard does not ask. */
export function graphOf({ modules, exchange, calls }: DrawnAgent) {
  const callable = calls.map(({ module, agent }) => {
    return { module, protocol: '', provider: `${agent}/${CALLABLE}`, fieldName: null }
  })
  const added = [...new Set(callable.map(({ provider }) => provider))].map((id) => {
    return { id, module: 'agent', source: '', provides: ['TextMessageHandler'] }
  })
  const judges = new Set(modules.filter(isWithoutJudge).map(({ id }) => id))
  const used = exchange.filter(({ module, protocol }) => protocol !== 'LLM' || !judges.has(module))
  return { modules: [...modules, ...added], exchange: [...used, ...callable] }
}

function isWithoutJudge({ provides, config }: DrawnAgent['modules'][number]): boolean {
  const isGuard = provides?.some((protocol) => protocol === 'InputGuard' || protocol === 'OutputGuard')
  return Boolean(isGuard) && config !== null && typeof config === 'object' && 'action' in config && !('judge' in config)
}
