import { VERSION } from '../../../version.ts'

/** What this server is called, and in which version. */
export const SERVER_INFO = { name: 'agent-host', version: VERSION }
