import { isScalar, parseDocument, visit } from 'yaml'
import { isSecretName, REDACTED, type Redact } from '../../../trace/redact.ts'

/** The text of an agent file without the values of keys whose names speak of a secret; `${NAME}` may stay. */
export function redactDefinition(text: string, redact: Redact): string {
  const ranges: [number, number][] = []
  visit(parseDocument(text), {
    Pair(_, { key, value }) {
      if (!isScalar(key) || !isScalar(value) || !isSecretName(String(key.value))) return
      const isHidden = typeof value.value === 'string' && !/^\$\{[^}]*\}$/.test(value.value)
      if (isHidden && value.range) ranges.push([value.range[0], value.range[1]])
    },
  })
  let shown = text
  for (const [start, end] of ranges.reverse()) shown = shown.slice(0, start) + REDACTED + shown.slice(end)
  return redact(shown)
}
