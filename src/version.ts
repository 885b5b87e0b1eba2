import { readFileSync } from 'node:fs'

/**
 * Of this package.
 *
 * @example
 * ```ts
 * export const userAgent = `my-adapter (agent-host ${VERSION})`
 * ```
 */
export const VERSION: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
