/**
 * Returns true for a JSON Schema with regular expressions: since these may backtrack for ever, check values by `runLimited` then. A
 * property of the name `pattern` counts too.
 */
export function hasPatterns(schema: object): boolean {
  return JSON.stringify(schema).includes('"pattern')
}
