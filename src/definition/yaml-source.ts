import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml'
import { messageOf } from '../errors.ts'
import type { Path, Position, Problem } from './problem.ts'

/** 256 KiB. Parsing is linear in the size, but with a large factor, and a definition of this size is a mistake. */
const MAX_BYTES = 256 * 1024
/** Aliases of aliases grow exponentially when they are resolved. */
const MAX_ALIASES = 100

/** A text that was read as YAML: its value, and where in the text each part of it stands. */
export interface YamlSource {
  readonly value: unknown
  readonly problems: readonly Problem[]
  /** Position of the nearest existing part: for a missing path, its parent. */
  locate(path: Path): Position
}

/**
 * Reads one YAML document. Never throws: errors are in `problems`, and `value` is then undefined.
 *
 * @param options how large the text may be, and what an error calls it
 */
export function readYaml(text: string, { maxBytes = MAX_BYTES, kind = 'an agent definition' } = {}): YamlSource {
  const start = { line: 1, column: 1 }
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) {
    const message = `The file has ${bytes} bytes; ${kind} may have ${maxBytes}.`
    return failed([{ message, suggestions: ['Move long texts into files that a module reads.'], ...start }])
  }
  const lines = new LineCounter()
  try {
    // Its own check for unique keys takes time in the square of their number.
    const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, prettyErrors: false })
    // A tag that is unknown is a warning there, and its value a text. What comes after the first problem mostly follows from it.
    const syntax = [...document.errors, ...document.warnings].slice(0, 1).map((error) => syntaxProblem(error, lines))
    const problems = [...syntax, ...misuses(document, lines)]
    if (problems.length > 0) return failed(problems)
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES })
    return { value, problems, locate: (path) => locate(document, lines, path) }
  } catch (error) {
    return failed([{ message: `The YAML cannot be read: ${messageOf(error)}.`, suggestions: [], ...start }])
  }
}

function failed(problems: readonly Problem[]): YamlSource {
  return { value: undefined, problems, locate: () => ({ line: 1, column: 1 }) }
}

function syntaxProblem(error: { code: string; message: string; pos: [number, number] }, lines: LineCounter): Problem {
  if (error.code === 'MULTIPLE_DOCS') {
    const suggestions = ['Write each into a file of its own.']
    return { message: 'The file has several YAML documents.', suggestions, ...positionAt(lines, error.pos[0]) }
  }
  const reason = error.message.startsWith('Maximum call stack') ? 'it is nested too deeply here' : error.message
  return { message: `The YAML cannot be read: ${reason}`, suggestions: [], ...positionAt(lines, error.pos[0]) }
}

/** Duplicate keys, and aliases that are part of the value they refer to: such a value has no end. */
function misuses(document: Document.Parsed, lines: LineCounter): Problem[] {
  const problems: Problem[] = []
  // An alias refers to the latest node of its name. Kept here, because searching the document for each takes long.
  const anchored = new Map<string | undefined, Node>()
  visit(document, {
    Alias(_, { source, range }, path) {
      if (!path.some((node) => node === anchored.get(source))) return
      const message = `The alias '*${source}' is part of the value that it refers to.`
      problems.push({ message, suggestions: ['Write the value out.'], ...positionAt(lines, range?.[0] ?? 0) })
    },
    Value(_, node) {
      anchored.set(node.anchor, node)
    },
    Map(_, map) {
      anchored.set(map.anchor, map)
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        if (!isScalar(key)) continue
        if (seen.has(key.value)) {
          const message = `The key '${key.value}' appears a second time.`
          problems.push({ message, suggestions: ['Remove one of the two.'], ...positionAt(lines, key.range?.[0] ?? 0) })
        }
        seen.add(key.value)
      }
    },
  })
  return problems
}

function locate(document: Document.Parsed, lines: LineCounter, path: Path): Position {
  let node: unknown = document.contents
  let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0
  for (const key of path) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(key))
      if (!pair) break
      if (isNode(pair.key)) offset = pair.key.range?.[0] ?? offset
      node = pair.value
    } else if (isSeq(node)) {
      const item = node.items[Number(key)]
      if (!isNode(item)) break
      offset = item.range?.[0] ?? offset
      node = item
    } else break
  }
  return positionAt(lines, offset)
}

function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(line, 1), column: Math.max(col, 1) }
}
