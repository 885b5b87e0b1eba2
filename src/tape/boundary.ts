import type { LLM } from '../protocols/llm.ts'
import type { ToolProvider } from '../protocols/tool-provider.ts'
import type { Place } from '../run/calls/boundaries.ts'

/** Protocols whose providers are boundaries. */
const BOUNDARIES: ReadonlySet<string> = new Set([
  'LLM',
  'ToolProvider',
  'Memory',
  'Embedder',
  'VectorIndex',
  'Storage',
  'ApprovalPolicy',
])

/** Tells whether the calls of a protocol are on tapes. */
export function isBoundary({ protocol, isDeclared }: Pick<Place, 'protocol' | 'isDeclared'>): boolean {
  return isDeclared || BOUNDARIES.has(protocol.name)
}

/** Tells whether a call asks if another one needs an approval. */
export function asksForNeed({ protocol, method }: { readonly protocol: string; readonly method: string }): boolean {
  return method === 'needsApproval' || protocol === 'ApprovalPolicy'
}

export type Method = (...args: unknown[]) => unknown

/**
 * One protocol of a provider, each method of which is called as `call` does.
 *
 * @param call gets the method, its name and the arguments
 */
export function wrapMethods(
  provider: object,
  { protocol }: Place,
  call: (method: Method, name: string, args: readonly unknown[]) => unknown,
): object {
  const wrapped: Record<string, unknown> = {}
  for (const name of protocol.methods) {
    const method = (provider as Record<string, Method | undefined>)[name]
    if (!method) continue
    wrapped[name] = (...args: unknown[]) => call(method, name, args)
  }
  if (protocol.name === 'LLM') wrapped.modelInfo = (provider as LLM).modelInfo
  if (protocol.name === 'ToolProvider') {
    const { needsApproval } = provider as ToolProvider
    if (needsApproval)
      wrapped.needsApproval = (...args: unknown[]) => call(needsApproval as Method, 'needsApproval', args)
  }
  return wrapped
}
