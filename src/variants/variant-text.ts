import { isDeepStrictEqual } from 'node:util'
import {
  Composer,
  CST,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  Parser,
  parseDocument,
  type Scalar,
  stringify,
} from 'yaml'
import { type ProblemAt, readDefinition } from '../definition/definition.ts'
import { AgentError, type Path, type Position, type Problem } from '../definition/problem.ts'
import { readYaml } from '../definition/yaml-source.ts'
import { isObject, ownValue } from '../json.ts'
import type { VariantChange } from '../wire/variant.ts'

/** Changes that were read from a text. */
export interface ReadChanges {
  readonly changes: readonly VariantChange[]
  /** Returns the place of a value of a module, or of the module, in the text. */
  readonly locate: (module: string, path?: Path) => Partial<Position>
}

/**
 * Reads how the text of an agent file was changed: values of configs. Whether each of them may be changed is decided elsewhere.
 *
 * @param shown text that the changes began with
 * @param file how problems call it
 * @throws AgentError `AGENT_INVALID` for a text that is no definition, and for every other change, at its line
 */
export function readChanges(shown: string, text: string, file: string | undefined): ReadChanges {
  const { problemAt } = readDefinition(text, file)
  const [before, after] = [readYaml(shown).value as Raw, readYaml(text).value as Raw]
  const refused = otherChanges(before, after)
  if (refused.length > 0)
    throw new AgentError(
      'AGENT_INVALID',
      refused.map((path) => refuse(path, problemAt)),
    )
  const changes = after.modules.flatMap(({ id, config }, index) =>
    differences(before.modules[index]?.config ?? {}, config ?? {}, []).map(
      ({ path, value }): VariantChange => ({ module: id, path, ...(value === undefined ? {} : { value }) }),
    ),
  )
  const locate = (module: string, path: Path = []): Partial<Position> => {
    const index = after.modules.findIndex(({ id }) => id === module)
    const { line, column } = problemAt(['modules', index, ...(path.length > 0 ? ['config', ...path] : [])], '')
    return { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) }
  }
  return { changes, locate }
}

interface RawModule {
  readonly id: string
  readonly config?: unknown
}

interface Raw {
  readonly modules: readonly RawModule[]
}

function refuse(path: Path, problemAt: ProblemAt): Problem {
  const name = path.at(-1)
  return problemAt(path, `${name} may not be changed by a variant.`, ['Edit the file.'])
}

/** Paths of what differs beside the configs of modules. */
function otherChanges({ modules: before, ...rest }: Raw, { modules: after, ...others }: Raw): Path[] {
  const found: Path[] = namesOfChanged(rest, others).map((name) => [name])
  if (before.length !== after.length) return [...found, ['modules']]
  const inModules = after.flatMap(({ config: _after, ...entry }, index) => {
    const { config: _before, ...own } = before[index] ?? {}
    return namesOfChanged(own, entry).map((name): Path => ['modules', index, name])
  })
  return [...found, ...inModules]
}

function namesOfChanged(before: object, after: object): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => !isDeepStrictEqual(ownValue(before, name), ownValue(after, name)))
}

interface Difference {
  readonly path: (string | number)[]
  /** Undefined for a value that was removed. */
  readonly value: unknown
}

/** The innermost values that differ; of lists of different lengths the whole. */
function differences(before: unknown, after: unknown, path: (string | number)[]): Difference[] {
  if (isDeepStrictEqual(before, after)) return []
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return after.flatMap((item, index) => differences(before[index], item, [...path, index]))
  }
  if (!isObject(before) || !isObject(after)) return [{ path, value: after }]
  return namesOfChanged(before, after).flatMap((name) => {
    const [one, other] = [ownValue(before, name), ownValue(after, name)]
    const at = [...path, name]
    return one === undefined || other === undefined ? [{ path: at, value: other }] : differences(one, other, at)
  })
}

/** Returns the text of an agent file with changes; all else, comments included, stays as it is written. */
export function writeChanges(text: string, changes: readonly VariantChange[]): string {
  const tokens = [...new Parser().parse(text)]
  const [document] = new Composer({ keepSourceTokens: true }).compose(tokens)
  if (!document) return text
  const rest = changes.filter((change) => !replaceScalar(document, change))
  const replaced = tokens.map((token) => CST.stringify(token)).join('')
  return rest.length === 0 ? replaced : writeInto(parseDocument(replaced), rest)
}

/** Puts a value where another stands. @returns false where there is none, or a list or mapping */
function replaceScalar(document: Document, { module, path, value }: VariantChange): boolean {
  const node = document.getIn(wholePath(document, module, path), true)
  if (!isScalar(node) || !CST.isScalar(node.srcToken) || typeof value === 'object' || value === undefined) return false
  const inFlow = isInFlow(document, module, path)
  const type = styleOf(value, node, inFlow)
  CST.setScalarValue(node.srcToken, String(value), { type, inFlow, afterKey: true })
  // In one line: a line of spaces would be read with a backslash.
  if (type === 'QUOTE_DOUBLE') node.srcToken.source = JSON.stringify(value)
  return true
}

function isInFlow(document: Document, module: string, path: Path): boolean {
  const whole = wholePath(document, module, path)
  return whole.some((_, depth) => {
    const node = document.getIn(whole.slice(0, depth), true)
    return isCollection(node) && node.flow === true
  })
}

function styleOf(value: unknown, { type }: Scalar, inFlow: boolean): Scalar.Type {
  if (typeof value !== 'string') return 'PLAIN'
  // An empty line at the end of a block would be one more with that below the block.
  if (value.includes('\n') && !inFlow && !/(^|\n)[ \t]*\n$/.test(value))
    return type === 'BLOCK_FOLDED' ? type : 'BLOCK_LITERAL'
  if (type === 'QUOTE_SINGLE' && !value.includes('\n')) return type
  const isPlain = type !== 'QUOTE_DOUBLE' && stringify(value, { lineWidth: 0 }).trimEnd() === value
  return isPlain ? 'PLAIN' : 'QUOTE_DOUBLE'
}

function writeInto(document: Document, changes: readonly VariantChange[]): string {
  for (const { module, path, value } of changes) {
    const whole = wholePath(document, module, path)
    copyAliases(document, whole)
    if (value === undefined) document.deleteIn(whole)
    else document.setIn(whole, value)
  }
  return document.toString({ lineWidth: 0 })
}

function wholePath(document: Document, module: string, path: Path): Path {
  const modules = document.get('modules')
  const isMeant = (entry: unknown) => isMap(entry) && entry.get('id') === module
  return ['modules', isCollection(modules) ? modules.items.findIndex(isMeant) : -1, 'config', ...path]
}

/** A change of what is used in several places is meant for one of them; a config that is not written becomes a mapping. */
function copyAliases(document: Document, path: Path): void {
  for (let depth = 1; depth < path.length; depth++) {
    const at = path.slice(0, depth)
    const node = document.getIn(at, true)
    if (isAlias(node)) document.setIn(at, document.createNode(node.toJS(document)))
    else if (!isCollection(node)) document.setIn(at, document.createNode({}))
  }
}
