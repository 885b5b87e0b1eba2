import { isAlias, isCollection, isNode, isScalar, parseDocument, type Scalar, visit } from 'yaml'
import { isReference } from '../../../definition/interpolate.ts'
import type { Path } from '../../../definition/problem.ts'
import type { AgentFolder } from '../../../host/agent-folder/agent-folder.ts'
import type { AgentHost } from '../../../host/host.ts'
import type { Redact } from '../../../redaction/redact.ts'
import { REDACTED } from '../../../redaction/redacted.ts'
import { isSecretName } from '../../../redaction/secret-name.ts'

/** Sources of the text of an agent. */
export interface DefinitionSources {
  readonly host: Pick<AgentHost, 'describe'>
  readonly agents: Pick<AgentFolder, 'sourceOf'>
  readonly redact: Redact
}

/** Returns the text of an agent's file without its secrets; null for one that came from no file. */
export function shownDefinition(id: string, { host, agents, redact }: DefinitionSources): string | null {
  const text = agents.sourceOf(id)
  if (text === undefined) return null
  const secretPaths = (host.describe(id)?.modules ?? []).flatMap((module) => module.secretPaths)
  return redactDefinition(text, secretPaths, redact)
}

/**
 * Returns the text of an agent file without its secrets; `${NAME}` stays.
 *
 * @param secretPaths places of values that a schema marks as secret; keys whose names speak of a secret need no mention
 */
export function redactDefinition(text: string, secretPaths: readonly Path[], redact: Redact): string {
  const document = parseDocument(text)
  const hidden = new Map<number, number>()
  const hide = ({ value, range }: Scalar) => {
    if (range && value !== null && !isReference(value)) hidden.set(range[0], range[1])
  }
  visit(document, {
    Pair(_, { key, value }) {
      if (isScalar(key) && isScalar(value) && typeof value.value === 'string' && isSecretName(String(key.value)))
        hide(value)
    },
  })
  const resolve = (node: unknown) => (isAlias(node) ? node.resolve(document) : node)
  for (const path of secretPaths) {
    const node = path.reduce<unknown>((at, key) => childOf(resolve(at), key), document.contents)
    forEachValue(resolve(node), hide)
  }
  return redact(cut(text, hidden))
}

function childOf(node: unknown, key: string | number): unknown {
  return isCollection(node) ? node.get(key, true) : undefined
}

function forEachValue(node: unknown, take: (scalar: Scalar) => void): void {
  if (!isNode(node)) return
  visit(node, { Scalar: (key, scalar) => (key === 'key' ? undefined : take(scalar)) })
}

/** @param ranges ends of the hidden ranges, by their start */
function cut(text: string, ranges: ReadonlyMap<number, number>): string {
  const lastFirst = [...ranges].sort(([a], [b]) => b - a)
  return lastFirst.reduce((shown, [start, end]) => shown.slice(0, start) + REDACTED + shown.slice(end), text)
}
