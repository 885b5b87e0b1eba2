import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type AgentServer, buildServer, type ServerOptions } from 'agent-host'

/** An adapter under test: a built-in one by its name, or the export of a file. */
export interface TestedAdapter {
  /** Name under which it is served: `MessagesAdapter`. */
  readonly name: string
  /** File that exports it under this name: `new URL('../src/index.ts', import.meta.url)`; undefined for a built-in adapter. */
  readonly file?: URL
}

/** Options of {@link serveAdapter}. */
export interface ServeOptions {
  /** Files of the project, by path: `{ 'agents/echo.yml': '...' }`. */
  readonly files: Readonly<Record<string, string>>
  readonly options?: Partial<ServerOptions>
}

/** A server that serves one adapter over a project in a temporary folder. */
export interface ServedAdapter extends AsyncDisposable {
  readonly server: AgentServer
  /** Folder of the project. */
  readonly dir: string
}

/**
 * Serves an adapter over the files of a project. Nothing listens until `server.listen()`: send requests with `server.app.inject(...)`.
 *
 * @throws HostError as `buildServer`
 */
export async function serveAdapter(adapter: TestedAdapter, { files, options }: ServeOptions): Promise<ServedAdapter> {
  const dir = await mkdtemp(join(tmpdir(), 'agent-host-adapter-'))
  const remove = () => rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  try {
    await mkdir(join(dir, 'agents'))
    await writeFiles(dir, { ...files, ...linkOf(adapter) })
    const adapters = [adapter.file ? `./adapter.ts#${adapter.name}` : adapter.name]
    const quiet = { port: 0, logLevel: 'silent', drainTimeout: 0 } as const
    const server = await buildServer({ projectDir: dir, adapters, ...quiet, ...options })
    return { server, dir, [Symbol.asyncDispose]: () => server.close().then(remove) }
  } catch (error) {
    await remove()
    throw error
  }
}

/** A project names only files of its own: one that exports the adapter. */
function linkOf({ name, file }: TestedAdapter): Record<string, string> {
  return file ? { 'adapter.ts': `export { ${name} } from ${JSON.stringify(fileURLToPath(file))}\n` } : {}
}

async function writeFiles(dir: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true })
    await writeFile(join(dir, name), text)
  }
}
