import * as nodeModule from 'node:module'
import { installation } from './installation.ts'

const SHARED = Symbol.for('agent-host.shared-installation')

interface ResolveResult {
  readonly url: string
  readonly shortCircuit?: boolean
}
type Resolve = (
  specifier: string,
  context: unknown,
  next: (specifier: string, context: unknown) => ResolveResult,
) => ResolveResult

/**
 * Makes `agent-host` mean the running installation also in packages that Node loads itself, whether or not they can find one.
 * Node 20 has the hook only for `import`: there `require('agent-host')` finds the package installed in the project.
 */
export function shareInstallation(): void {
  const globals = globalThis as { [SHARED]?: boolean }
  if (globals[SHARED]) return
  globals[SHARED] = true
  const url = installation.entry.href
  const { registerHooks } = nodeModule as { registerHooks?: (hooks: { resolve: Resolve }) => void }
  if (registerHooks) {
    registerHooks({
      resolve: (specifier, context, next) =>
        specifier === 'agent-host' ? { url, shortCircuit: true } : next(specifier, context),
    })
    return
  }
  const hook = `export const resolve = (specifier, context, next) =>
    specifier === 'agent-host' ? { url: ${JSON.stringify(url)}, shortCircuit: true } : next(specifier, context)`
  nodeModule.register(`data:text/javascript,${encodeURIComponent(hook)}`)
}
