import { fileURLToPath } from 'node:url'
import { buildServer } from '../../dist/index.js'
import { report } from './report.js'

const server = await buildServer({
  projectDir: process.argv[2] ?? fileURLToPath(new URL('../project', import.meta.url)),
  adapters: ['ChatCompatApiAdapter'],
  port: 0,
  logLevel: 'warn',
})
report(await server.listen())
