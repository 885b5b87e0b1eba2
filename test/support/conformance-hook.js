// Lets the conformance suite load on Node 20: it imports fs.globSync, which came with Node 22, and needs it for other commands.
import { register } from 'node:module'

const FS =
  'data:text/javascript,export * from "node:fs"; export { default } from "node:fs"; export const globSync = undefined'
const HOOKS = `export async function resolve(specifier, context, next) {
  const isSuite = context.parentURL?.includes('/@modelcontextprotocol/conformance/')
  return specifier === 'fs' && isSuite ? { shortCircuit: true, url: ${JSON.stringify(FS)} } : next(specifier, context)
}`
register(`data:text/javascript,${encodeURIComponent(HOOKS)}`)
