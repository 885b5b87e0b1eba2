import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { removeFolder } from './temp-project.ts'

/** A server of a store, of a test's own, in a temporary folder. */
export interface StoreServer {
  readonly url: string
  /** Past what `freeze` stops. */
  readonly directUrl: string
  /** Process of the server; of PostgreSQL the parent of all others. */
  readonly pid: number
  /** Ends it as a crash would; what it has stored stays. */
  kill(): Promise<void>
  /** Starts it again after `kill`. */
  start(): Promise<void>
  /** While it is frozen, connections stay and nothing comes through. */
  freeze(isFrozen: boolean): void
  /** Ends it for good, and removes its folder. */
  remove(): Promise<void>
}

interface Start {
  readonly dir: string
  readonly port: number
}

/** @param args of `redis-server`; by default it writes an append-only file */
export function startRedis(args: readonly string[] = ['--appendonly', 'yes']): Promise<StoreServer> {
  return startServer(
    ({ dir, port }) =>
      spawn('redis-server', ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', dir, '--save', '', ...args]),
    (port) => `redis://127.0.0.1:${port}`,
  )
}

/** Sentinel, as the only one, watching a server of Redis by the name `agents`. */
export function startSentinel(watched: StoreServer): Promise<StoreServer> {
  return startServer(
    ({ dir, port }) => {
      const config = join(dir, 'sentinel.conf')
      const settings = [
        `monitor agents 127.0.0.1 ${new URL(watched.directUrl).port} 1`,
        'down-after-milliseconds agents 500',
      ]
      writeFileSync(
        config,
        ['bind 127.0.0.1', `port ${port}`, ...settings.map((one) => `sentinel ${one}`), ''].join('\n'),
      )
      return spawn('redis-server', [config, '--sentinel'], { cwd: dir })
    },
    (port) => `redis+sentinel://127.0.0.1:${port}/0?master=agents`,
  )
}

/** PostgreSQL refuses to run as root: it runs as the user `postgres` then. What it stores need not survive the machine. */
export function startPostgres(args: readonly string[] = ['-c', 'fsync=off']): Promise<StoreServer> {
  const bin = postgresFolder() ?? ''
  const as = isRoot() ? postgresUser() : {}
  return startServer(
    ({ dir, port }) => {
      const data = join(dir, 'data')
      const init = ['-D', data, '-U', 'agent', '--auth=trust', '--no-sync', '-E', 'UTF8']
      if (!existsSync(data)) execFileSync(join(bin, 'initdb'), init, { cwd: dir, stdio: 'pipe', ...as })
      const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: dir }
      const set = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
      return spawn(join(bin, 'postgres'), ['-D', data, ...set, ...args], { cwd: dir, ...as })
    },
    (port) => `postgres://agent@127.0.0.1:${port}/postgres`,
  )
}

/**
 * PgBouncer in front of a server, with its default settings apart from those given. It refuses to run as root, too.
 *
 * @param settings lines of its configuration
 */
export function startPgBouncer(postgres: StoreServer, settings: readonly string[] = []): Promise<StoreServer> {
  const as = isRoot() ? postgresUser() : {}
  return startServer(
    ({ dir, port }) => {
      const users = join(dir, 'users.txt')
      writeFileSync(users, '"agent" ""\n')
      const config = join(dir, 'pgbouncer.ini')
      const own = [
        'listen_addr=127.0.0.1',
        `listen_port=${port}`,
        'auth_type=trust',
        `auth_file=${users}`,
        'unix_socket_dir=',
      ]
      const target = `host=127.0.0.1 port=${new URL(postgres.directUrl).port}`
      writeFileSync(config, ['[databases]', `* = ${target}`, '[pgbouncer]', ...own, ...settings, ''].join('\n'))
      return spawn(commandOf('pgbouncer') ?? '', [config], { cwd: dir, ...as })
    },
    (port) => `postgres://agent@127.0.0.1:${port}/postgres`,
  )
}

export function hasRedis(): boolean {
  return commandOf('redis-server') !== undefined
}

export function hasPostgres(): boolean {
  return postgresFolder() !== undefined && (!isRoot() || postgresUser() !== undefined)
}

export function hasPgBouncer(): boolean {
  return hasPostgres() && commandOf('pgbouncer') !== undefined
}

async function startServer(run: (start: Start) => ChildProcess, urlOf: (port: number) => string): Promise<StoreServer> {
  const dir = mkdtempSync(join(tmpdir(), 'agent-host-store-'))
  const owner = isRoot() ? postgresUser() : undefined
  if (owner) chownSync(dir, owner.uid, owner.gid)
  const front = await Front.open()
  let port = await freePort()
  let child: ChildProcess | undefined
  const start = async () => {
    child = run({ dir, port })
    await untilReady(child)
    front.target = port
  }
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child?.once('exit', resolve))
    // PostgreSQL ends its other processes with this one, and leaves all as it is.
    child.kill('SIGQUIT')
    await ended
  }
  await start().catch(async (error) => {
    // Another process took the port after it was found free.
    if (!/already in use/i.test(String(error))) throw error
    port = await freePort()
    await start()
  })
  return {
    url: urlOf(front.port),
    directUrl: urlOf(port),
    get pid() {
      return child?.pid ?? 0
    },
    start,
    kill,
    freeze: (isFrozen) => front.freeze(isFrozen),
    async remove() {
      await kill()
      await front.close()
      await removeFolder(dir)
    },
  }
}

/** PostgreSQL and Redis log the same words when they are ready. */
function untilReady(child: ChildProcess): Promise<void> {
  let output = ''
  return new Promise((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      output += chunk
      if (/ready to accept connections|process up|sentinel id is/i.test(output)) resolve()
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    child.once('exit', () => reject(new Error(`The server ended: ${output}`)))
  })
}

function postgresFolder(): string | undefined {
  const parent = '/usr/lib/postgresql'
  const versions = existsSync(parent) ? readdirSync(parent).sort((one, other) => Number(other) - Number(one)) : []
  return versions.map((version) => join(parent, version, 'bin')).find((dir) => existsSync(join(dir, 'initdb')))
}

function postgresUser(): { uid: number; gid: number } | undefined {
  try {
    const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: 'pipe' }))
    return { uid: idOf('-u'), gid: idOf('-g') }
  } catch {
    return undefined
  }
}

/** The port that clients know: it passes everything on to the server, or nothing. */
class Front {
  target = 0
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isFrozen = false

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    server.on('connection', (socket) => this.#pass(socket))
  }

  static async open(): Promise<Front> {
    const server = createServer({ noDelay: true })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new Front(server)
  }

  freeze(isFrozen: boolean): void {
    this.#isFrozen = isFrozen
    for (const socket of this.#sockets) isFrozen ? socket.pause() : socket.resume()
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #pass(client: Socket): void {
    const server = connect({ port: this.target, host: '127.0.0.1', noDelay: true })
    const pair = [client, server] as const
    for (const [one, other] of [pair, [server, client] as const]) {
      this.#sockets.add(one)
      one.on('data', (data) => other.write(data))
      one.on('error', () => {})
      one.on('close', () => {
        this.#sockets.delete(one)
        other.destroy()
      })
      if (this.#isFrozen) one.pause()
    }
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** Debian has servers in a folder that is in the PATH of root alone. */
function commandOf(name: string): string | undefined {
  const dirs = [...(process.env.PATH ?? '').split(':'), '/usr/sbin']
  return dirs.map((dir) => join(dir, name)).find((file) => existsSync(file))
}
