// agent-host.js [project] [adapter] [debug]
import { fileURLToPath } from 'node:url'
import { buildServer } from '../../dist/index.js'
import { report } from './report.js'

const [, , projectDir = '', adapter = 'ChatCompatApiAdapter', debug] = process.argv
const server = await buildServer({
  projectDir: projectDir || fileURLToPath(new URL('../project', import.meta.url)),
  adapters: [adapter],
  port: 0,
  debug: debug === 'debug',
  logLevel: 'warn',
})
report(await server.listen())
