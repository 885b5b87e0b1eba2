import { VERSION } from '../../../version.ts'

/** Name and version of this server. */
export const SERVER_INFO = { name: 'agent-host', version: VERSION }
