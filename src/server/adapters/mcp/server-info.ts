import { readFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'))

/** What this server is called, and in which version. */
export const SERVER_INFO = { name: 'agent-host', version: String(version) }
