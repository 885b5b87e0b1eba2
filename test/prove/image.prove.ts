// deploy/Dockerfile builds an image that serves, keeps no secret and drains; its servers share PostgreSQL behind deploy/nginx.conf.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { hasPostgres, type StoreServer, startPostgres } from '../support/store-servers.ts'
import { removeFolder } from '../support/temp-project.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const BASE = 'docker.io/library/node:22-slim'
const IMAGE = 'localhost/agent-host-proof'
const SECRET = 'tulips-and-roses-4711'
const KEY = 'key-of-the-clients'
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
const TOOLS = ['buildah', 'debootstrap', 'nginx']
const FILES = {
  'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]\n',
  'agents/slow.yml': `id: slow
modules:
  - { id: llm, module: llm/mock, config: { replies: [{ text: one two three four, chunks: 4, delay_ms: 500 }] } }
  - { id: main, module: orchestrator/tool-loop }
`,
  '.env': `OPENAI_API_KEY=${SECRET}\n`,
}

/** The output of a program; it fails with what the program said. */
function run(command: string, args: readonly string[], cwd = ROOT): string {
  return execFileSync(command, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 << 20,
  }).trim()
}

function isInstalled(command: string): boolean {
  return ['/usr/bin', '/usr/sbin', '/usr/local/bin'].some((folder) => existsSync(join(folder, command)))
}

const isPossible = process.getuid?.() === 0 && hasPostgres() && TOOLS.every(isInstalled)

describeWith('buildah, debootstrap, nginx and PostgreSQL, as root', isPossible, 'the image', function () {
  this.timeout(20 * 60_000)
  const dir = mkdtempSync(join(tmpdir(), 'agent-host-image-'))
  const containers: string[] = []
  const children: ChildProcess[] = []
  let config: { Entrypoint: string[]; Cmd: string[]; Healthcheck: { Test: string[] }; User: string }

  before(() => {
    chmodSync(dir, 0o755)
    makeBase(dir)
    makeProject(dir)
    const file = ['-f', join(ROOT, 'deploy/Dockerfile'), '--ignorefile', join(ROOT, 'deploy/Dockerfile.dockerignore')]
    const how = ['--isolation', 'chroot', '--pull-never', '--network', 'host', '--format', 'docker']
    run('buildah', ['bud', ...how, ...file, '-t', IMAGE, join(dir, 'project')])
    config = JSON.parse(run('buildah', ['inspect', '--type', 'image', IMAGE])).Docker.config
  })

  afterEach(() => {
    for (const child of children.splice(0)) killAll(child)
    for (const container of containers.splice(0)) run('buildah', ['rm', container])
  })

  after(async () => {
    for (const image of [IMAGE, BASE]) run('buildah', ['rmi', '--force', image])
    await removeFolder(dir)
  })

  /** A container of the image that runs its command, with these variables. */
  async function start(environment: Readonly<Record<string, string>> = {}) {
    const port = await freePort()
    const container = run('buildah', ['from', '--pull-never', IMAGE])
    containers.push(container)
    const own = { AGENT_HOST_PORT: String(port), CUSTOM_COMPAT_API_KEY: KEY, RESPONSES_API_KEY: KEY, ...environment }
    const variables = Object.entries(own).flatMap(([name, value]) => ['--env', `${name}=${value}`])
    const how = ['run', '--isolation', 'chroot', '--network', 'host', ...variables, container, '--']
    const child = spawn('buildah', [...how, ...config.Entrypoint, ...config.Cmd], { stdio: ['ignore', 'pipe', 'pipe'] })
    children.push(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    const url = `http://127.0.0.1:${port}`
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`The container ended: ${output}`)
      expect((await fetch(`${url}/readyz`).catch(() => undefined))?.status).to.equal(200)
    }, 60_000)
    return { child, container, url, port }
  }

  it('has no secret and no .env in any layer', () => {
    const layers = join(dir, 'layers')
    run('buildah', ['push', '--quiet', '--disable-compression', IMAGE, `dir:${layers}`])
    const files = readdirSync(layers).map((name) => join(layers, name))
    expect(files.filter((file) => readFileSync(file).includes(SECRET))).to.deep.equal([])
    const archives = files.filter((file) => readFileSync(file).subarray(257, 262).toString() === 'ustar')
    const names = archives.flatMap((file) => run('tar', ['-tf', file]).split('\n'))
    expect(names).to.include('srv/agents/agents/echo.yml')
    expect(names.filter((name) => /^srv\/agents\/(\.env|\.git)/.test(name))).to.deep.equal([])
  })

  it('serves chat and stored responses with keys of the environment, as the user node, and is healthy', async () => {
    const { child, container, url, port } = await start()
    const refused = await fetch(`${url}/v1/models`)
    expect(refused.status).to.equal(401)
    expect(await chat(url, 'echo', 'hello')).to.equal('hello')
    const { id } = await post(url, '/v1/responses', { model: 'echo', input: 'stored' })
    const stored = await fetch(`${url}/v1/responses/${id}`, { headers: HEADERS })
    expect(await stored.json()).to.include({ id, status: 'completed' })
    expect(ownerOf(serverOf(child))).to.equal(1000)
    const [, ...check] = config.Healthcheck.Test
    const shell = check.join(' ').replaceAll('127.0.0.1:8000', `127.0.0.1:${port}`)
    run('buildah', ['run', '--isolation', 'chroot', '--network', 'host', container, '--', 'sh', '-c', shell])
  })

  it('drains at SIGTERM: what runs is answered, and it ends with 0', async () => {
    const { child, url } = await start()
    const body = JSON.stringify({ model: 'slow', messages: [{ role: 'user', content: 'count' }], stream: true })
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: HEADERS, body })
    process.kill(processOf(child, 'tini'), 'SIGTERM')
    const events = await answer.text()
    const pieces = [...events.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece)
    expect(pieces.join('')).to.equal('one two three four')
    expect(events).to.include('[DONE]')
    const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode]
    expect(code).to.equal(0)
  })

  it('as two servers behind nginx shares a store in PostgreSQL, and one that stops is not noticed', async () => {
    const postgres: StoreServer = await startPostgres()
    try {
      const environment = { AGENT_HOST_STORE: postgres.directUrl }
      const [one, other] = [await start(environment), await start(environment)]
      const url = await startNginx(dir, [one.port, other.port], children)
      const { id } = await post(url, '/v1/responses', { model: 'echo', input: 'shared', background: true })
      for (const server of [one.url, other.url, url]) {
        await eventually(async () => {
          const found = await fetch(`${server}/v1/responses/${id}`, { headers: HEADERS })
          expect(await found.json()).to.include({ status: 'completed' })
        }, 20_000)
      }
      process.kill(processOf(one.child, 'tini'), 'SIGTERM')
      for (let n = 0; n < 20; n++) expect(await chat(url, 'echo', `hello ${n}`)).to.equal(`hello ${n}`)
      await eventually(() => expect(one.child.exitCode).to.equal(0), 20_000)
      const next = await post(url, '/v1/responses', { model: 'echo', input: 'next', previous_response_id: id })
      expect(next).to.include({ status: 'completed' })
    } finally {
      for (const child of children.splice(0)) killAll(child)
      await postgres.remove()
    }
  })
})

const HEADERS = { 'content-type': 'application/json', authorization: `Bearer ${KEY}` }

async function post(url: string, path: string, body: object) {
  const response = await fetch(url + path, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) })
  const text = await response.text()
  expect(response.status, text).to.equal(200)
  return JSON.parse(text)
}

async function chat(url: string, model: string, content: string): Promise<string> {
  const answer = await post(url, '/v1/chat/completions', { model, messages: [{ role: 'user', content }] })
  return answer.choices[0].message.content
}

/** Debian with Node and npm of the registry, in the place of the official image, which comes from another one. */
function makeBase(dir: string): void {
  const base = join(dir, 'base')
  run('debootstrap', ['--variant=minbase', 'bookworm', base])
  const packages = join(dir, 'node')
  mkdirSync(packages)
  writeFileSync(join(packages, 'package.json'), '{}')
  const binary = `node-linux-${process.arch}`
  run('npm', ['install', '--no-fund', '--no-audit', `${binary}@22`, 'npm@11'], packages)
  cpSync(join(packages, 'node_modules', binary, 'bin/node'), join(base, 'usr/local/bin/node'))
  cpSync(join(packages, 'node_modules/npm'), join(base, 'usr/local/lib/npm'), { recursive: true })
  for (const name of ['npm', 'npx']) {
    const file = join(base, 'usr/local/bin', name)
    writeFileSync(file, `#!/bin/sh\nexec node /usr/local/lib/npm/bin/${name}-cli.js "$@"\n`)
    chmodSync(file, 0o755)
  }
  run('chroot', [base, 'useradd', '--create-home', '--uid', '1000', 'node'])
  // Those that this machine trusts: a registry may be behind a proxy of its own.
  mkdirSync(join(base, 'etc/ssl/certs'), { recursive: true })
  cpSync(CERTIFICATES, join(base, CERTIFICATES))
  run('tar', ['-C', base, '--one-file-system', '-cf', join(dir, 'base.tar'), '.'])
  const container = run('buildah', ['from', 'scratch'])
  run('buildah', ['add', '--quiet', container, join(dir, 'base.tar'), '/'])
  const trusted = ['NODE_EXTRA_CA_CERTS', 'npm_config_cafile'].flatMap((name) => ['--env', `${name}=${CERTIFICATES}`])
  run('buildah', ['config', ...trusted, container])
  run('buildah', ['commit', '--quiet', '--rm', container, BASE])
}

/** A project that depends on this build, as a packed file in its folder. */
function makeProject(dir: string): void {
  const project = join(dir, 'project')
  mkdirSync(join(project, 'agents'), { recursive: true })
  const packed = run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', project]).split('\n').at(-1)
  const dependencies = { 'agent-host': `file:${packed}`, pg: '^8.23.0' }
  const files = { ...FILES, 'package.json': JSON.stringify({ private: true, type: 'module', dependencies }) }
  for (const [path, text] of Object.entries(files)) writeFileSync(join(project, path), text)
  run('npm', ['install', '--package-lock-only', '--no-fund', '--no-audit'], project)
}

/** nginx of this machine with the configuration of the repository: its names of containers become ports. */
async function startNginx(dir: string, ports: readonly number[], children: ChildProcess[]): Promise<string> {
  const port = await freePort()
  const folder = join(dir, 'nginx')
  mkdirSync(join(folder, 'logs'), { recursive: true })
  const own = readFileSync(join(ROOT, 'deploy/nginx.conf'), 'utf8')
    .replace(/^resolver .*$/m, '')
    .replace(/^ *server agents:8000 resolve;$/m, ports.map((one) => `server 127.0.0.1:${one};`).join('\n'))
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
  writeFileSync(join(folder, 'nginx.conf'), `daemon off;\npid ${folder}/pid;\nevents {}\nhttp {\n${own}\n}\n`)
  children.push(
    spawn('nginx', ['-p', folder, '-e', join(folder, 'logs/error.log'), '-c', 'nginx.conf'], { stdio: 'ignore' }),
  )
  const url = `http://127.0.0.1:${port}`
  await eventually(
    async () => expect((await fetch(`${url}/readyz`).catch(() => undefined))?.status).to.equal(200),
    20_000,
  )
  return url
}

/** A process, and all below it: buildah does not take its container along. */
function killAll(child: ChildProcess): void {
  for (const { pid } of processesBelow(child)) process.kill(pid, 'SIGKILL')
  child.kill('SIGKILL')
}

/** Process of a name under another. */
function processOf(child: ChildProcess, name: string): number {
  return processesBelow(child).find(({ command }) => command.includes(name))?.pid ?? Number.NaN
}

function processesBelow({ pid: top }: ChildProcess): { pid: number; command: string }[] {
  const all = run('ps', ['-eo', 'pid=,ppid=,comm='])
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
  const below = (parent: string): { pid: number; command: string }[] =>
    all
      .filter(([, ppid]) => ppid === parent)
      .flatMap(([own = '', , command = '']) => [{ pid: Number(own), command }, ...below(own)])
  return below(String(top))
}

/** The server, under tini. */
function serverOf(child: ChildProcess): number {
  return Number(
    run('ps', ['--ppid', String(processOf(child, 'tini')), '-o', 'pid='])
      .trim()
      .split('\n')[0],
  )
}

function ownerOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}
