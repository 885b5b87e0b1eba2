import type { Path } from '../definition/problem.ts'
import { childSchemas, type SchemaNode, withAlternatives } from '../definition/schema-problems.ts'
import { fieldsOf, ownValue } from '../json.ts'
import type { Module } from '../module/define-module.ts'
import { LLM } from '../protocols/llm.ts'

/** Value of a module's config that a variant may change. */
export interface Variable {
  /** From the config. */
  readonly path: Path
  /** JSON Schema of the value. */
  readonly schema: SchemaNode
}

/** Tells whether a variant may change the value at a path of a module's config. */
export function isVariable(module: Module, path: Path): boolean {
  let nodes: SchemaNode[] = [module.config as SchemaNode]
  let isFree = false
  for (const [depth, key] of path.entries()) {
    nodes = nodes.flatMap(withAlternatives).flatMap((node) => childSchemas(node, key))
    if (nodes.some(({ secret }) => secret !== undefined)) return false
    isFree ||= nodes.some((node) => isFreeAt(module, path.slice(0, depth + 1), node))
  }
  return isFree && nodes.length > 0
}

/** Returns the values that a variant may change, in the order of the schema; of items of lists, those that a config has. */
export function listVariables(module: Module, config: unknown): Variable[] {
  return list(module.config as SchemaNode, config, [])

  function list(node: SchemaNode, value: unknown, path: Path): Variable[] {
    if (node.secret !== undefined) return []
    if (path.length > 0 && isFreeAt(module, path, node)) return [{ path, schema: node }]
    if (node.items && Array.isArray(value)) {
      const { items } = node
      return value.flatMap((item, index) => list(items, item, [...path, index]))
    }
    const fields = Object.entries(node.properties ?? {})
    return fields.flatMap(([key, child]) => list(child, fieldsOf(value)[key], [...path, key]))
  }
}

/** A schema's mark decides. Without one, what every variant may change is known by its name. */
function isFreeAt(module: Module, path: Path, { variant, type }: SchemaNode): boolean {
  if (variant !== undefined || path.length > 1) return variant === true
  const [name] = path
  if (name === 'system_prompt') return type === 'string'
  const isModel = module.provides.some((protocol) => protocol.name === LLM.name)
  return isModel && ((name === 'model' && type === 'string') || (name === 'temperature' && type === 'number'))
}

/** Returns the value at a path; undefined where there is none. */
export function getAt(value: unknown, path: Path): unknown {
  return path.reduce(ownValue, value)
}
