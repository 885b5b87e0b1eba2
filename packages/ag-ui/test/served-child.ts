/** Serves the project of a folder in a process of its own, and sends its address to the process that began it: `served-child.ts <folder>`. */
import { buildServer } from 'agent-host'

const [, , projectDir = ''] = process.argv
const adapters = ['./adapter.ts#AgUiAdapter']
const server = await buildServer({ projectDir, adapters, port: 0, logLevel: 'silent', drainTimeout: 0 })
process.send?.(await server.listen())
