import { HostError } from '../../errors.ts'
import { parseJson } from '../../json.ts'
import type { VariantChange } from '../../wire/variant.ts'

/**
 * Reads a value of `--set`, `<module>.<path>=<value>`.
 *
 * @throws HostError `OPTION_INVALID` for what is no change
 */
export function readChange(text: string): VariantChange {
  const [, module, path, value] = /^([\w-]+)\.([^=]+)=(.*)$/s.exec(text) ?? []
  if (module === undefined || path === undefined || value === undefined) {
    throw new HostError(
      'OPTION_INVALID',
      `--set takes <module>.<path>=<value>, such as orchestrator.system_prompt="Be brief", not '${text}'.`,
    )
  }
  return {
    module,
    path: path.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key)),
    value: readValue(value),
  }
}

/** Numbers, switches, lists and the like are JSON; anything else is text. */
function readValue(text: string): unknown {
  const value = parseJson(text)
  return value === undefined ? text : value
}
