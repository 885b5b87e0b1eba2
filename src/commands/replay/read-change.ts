import { badOption } from '../../errors.ts'
import { parseJson } from '../../json.ts'
import type { VariantChange } from '../../wire/variant.ts'

/**
 * Reads a value of `--set`, `<module>.<path>=<value>` or, of an agent that is called, `<agent>.<module>.<path>=<value>`.
 *
 * @param agents ids of the project's agents; they may hold dots, and the longest that fits counts
 * @throws HostError `OPTION_INVALID` for what is no change
 */
export function readChange(text: string, agents: readonly string[] = []): VariantChange {
  const [agent] = agents.filter((id) => isOf(text, id)).toSorted((one, other) => other.length - one.length)
  const place = agent === undefined ? text : text.slice(agent.length + 1)
  const [, module, path, value] = CHANGE.exec(place) ?? []
  if (module === undefined || path === undefined || value === undefined) {
    throw badOption(
      `--set takes <module>.<path>=<value>, such as orchestrator.system_prompt="Be brief", not '${text}'.`,
    )
  }
  return {
    ...(agent === undefined ? {} : { agent }),
    module,
    path: path.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key)),
    value: readValue(value),
  }
}

const CHANGE = /^([\w-]+)\.([^=]+)=(.*)$/s

function isOf(text: string, agent: string): boolean {
  return text.startsWith(`${agent}.`) && CHANGE.test(text.slice(agent.length + 1))
}

/** Numbers, switches, lists and the like are JSON; anything else is text. */
function readValue(text: string): unknown {
  const value = parseJson(text)
  return value === undefined ? text : value
}
