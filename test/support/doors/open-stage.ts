import { join } from 'node:path'
import { openProject, type ServerOptions } from 'agent-host'
import { buildServer } from '../../../src/server/server.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { startCli } from '../run-cli.ts'
import { makeSharedProject, removeFolder } from '../temp-project.ts'
import { BANK, Ledgers } from './bank.ts'
import type { Stage } from './player.ts'

/** Two servers and a program in this process, on one project and store. */
export async function openStage(store = 'sqlite'): Promise<Stage & { close(): Promise<void> }> {
  const { dir } = await makeSharedProject(BANK)
  const ledgers = new Ledgers(dir)
  const options: Partial<ServerOptions> = { projectDir: dir, store, logLevel: 'silent', drainTimeout: 0 }
  const adapters = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter']
  const servers = [
    await buildServer({ ...options, adapters, port: 0 }),
    await buildServer({ ...options, adapters, port: 0 }),
  ]
  const urls = await Promise.all(servers.map((server) => server.listen()))
  const project = await openProject(options)
  const records = await openStore({ store, dir: join(dir, 'responses'), projectDir: dir })
  let requests = 0
  return {
    url: () => urls[requests++ % urls.length] ?? '',
    project: () => project,
    ledgers,
    records,
    async startVictim() {
      const flags = ['--adapter', adapters.join(','), '--port', '0', '--store', store, '--no-worker']
      const server = startCli(['serve', ...flags], { cwd: dir })
      const [, url = ''] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
      return { url, kill: () => server.stop('SIGKILL') }
    },
    async close() {
      await Promise.all(servers.map((server) => server.close()))
      await project.close()
      await records.close()
      await removeFolder(dir)
    },
  }
}
