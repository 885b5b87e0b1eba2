// agent-host.js [project] [adapters, joined by commas] [debug] [other options, as JSON]: the build of BENCH_DIST, with all adapters
// when none is named
import { fileURLToPath } from 'node:url'
import { report } from './report.js'

const ALL = 'ChatCompatApiAdapter,ResponsesCompatApiAdapter,McpApiAdapter,UiApiAdapter'
const [, , projectDir = '', adapters = '', debug, others = '{}'] = process.argv
const { buildServer } = await import(process.env.BENCH_DIST)
const server = await buildServer({
  projectDir: projectDir || fileURLToPath(new URL('../project', import.meta.url)),
  adapters: (adapters || ALL).split(','),
  port: 0,
  // For pictures.
  bodyLimit: 32 * 1024 * 1024,
  debug: debug === 'debug',
  logLevel: 'warn',
  ...JSON.parse(others),
})
report(await server.listen())
