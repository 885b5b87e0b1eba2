interface Schema {
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
}

/**
 * Returns true for a schema that OpenAI accepts as strict: every object lists all its properties as required, and
 * allows no others (platform.openai.com/docs/guides/structured-outputs, "Supported schemas").
 */
export function isStrictSchema(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictSchema)
  if (typeof schema !== 'object' || schema === null) return true
  const { type, properties, required, additionalProperties } = schema as Schema
  const isObject = type === 'object' || properties !== undefined
  if (isObject && additionalProperties !== false) return false
  const names = new Set(isObject && Array.isArray(required) ? required : [])
  if (isObject && !Object.keys(properties ?? {}).every((name) => names.has(name))) return false
  return Object.values(schema).every(isStrictSchema)
}
