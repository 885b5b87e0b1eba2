import { existsSync } from 'node:fs'
import { access, constants, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { messageOf, systemCodeOf } from '../../errors.ts'
import { fieldsOf } from '../../json.ts'
import { PROVIDERS, VENDORS } from '../../project/create/providers.ts'
import { runProgram } from '../../project/run-program.ts'
import { readProxySettings } from '../../proxy/proxy-settings.ts'
import { makeRedact } from '../../redaction/redact.ts'
import { defaultPort, findServer } from '../server/running-server.ts'
import { plural } from '../terminal/plural.ts'
import { readUsedModules, type UsedModules, vendorAddress } from './used-addresses.ts'

/** Result of one check. */
export interface Finding {
  readonly state: 'ok' | 'warning' | 'problem'
  readonly subject: string
  readonly message: string
  /** Next step. */
  readonly advice?: string
}

/** Written by the build. */
const BUNDLED_PACKAGES = new URL('../../bundled-packages.json', import.meta.url)
const REACH_TIMEOUT_MS = 3000
/** Looks at everything that agents of a project need; nothing is changed, and no key leaves the machine. */
export async function examine(projectDir: string, port: number | undefined): Promise<Finding[]> {
  const used = existsSync(join(projectDir, 'agents')) ? await readUsedModules(process.env) : undefined
  const hasAgents = used !== undefined && used.agents + used.problems > 0
  const groups = await Promise.all([
    [examineNode(process.versions.node)],
    await examineBundle(BUNDLED_PACKAGES),
    [examineProject(projectDir)],
    examineProxy(process.env),
    hasAgents ? examineAgents(used) : [],
    !hasAgents || used.usesAuto ? examineModels(process.env) : [],
    used ? examineAddresses(used) : [],
    [await examinePort(port)],
    [await examineStore(projectDir)],
    !hasAgents || used.usesPython ? [await examinePython(projectDir)] : [],
    examineEjected(projectDir),
  ])
  const redact = makeRedact(process.env)
  return groups.flat().map((finding) => ({ ...finding, message: redact(finding.message) }))
}

export function examineNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 20)) return ok('Node', version)
  const advice = 'Install Node 20.20 or later: https://nodejs.org'
  return finding('problem', 'Node', `${version} is too old.`, advice)
}

/** Scanners of `node_modules` do not see the packages that are part of the built code. */
export async function examineBundle(file: URL): Promise<Finding[]> {
  if (!existsSync(file)) return []
  const packages: { name: string; version: string; isNeeded: boolean }[] = JSON.parse(await readFile(file, 'utf8'))
  const chosen = packages.filter(({ isNeeded }) => !isNeeded).map(({ name, version }) => `${name} ${version}`)
  const needed = packages.length - chosen.length
  const message = `${chosen.join(', ')}, and ${needed} packages that they need: dist/bundled-packages.json`
  return [ok('Bundled', message)]
}

function examineProject(projectDir: string): Finding {
  if (existsSync(join(projectDir, 'agents'))) return ok('Project', projectDir)
  const message = `${projectDir} has no agents/.`
  return finding('warning', 'Project', message, 'Create a project: agent-host init <name>')
}

function examineProxy(environment: NodeJS.ProcessEnv): Finding[] {
  const settings = readProxySettings(environment)
  return settings ? [ok('Proxy', `Requests go to ${settings.description}.`)] : []
}

function examineAgents({ agents, problems }: UsedModules): Finding[] {
  const subject = 'Agents'
  if (problems === 0) return [ok(subject, `${plural(agents, 'agent')} can be served.`)]
  const message = `${plural(problems, 'agent file')} cannot be used.`
  return [finding('problem', subject, message, 'See why: agent-host check')]
}

/** The model of the environment, as `llm/auto` chooses it. */
async function examineModels(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  for (const [vendor, { variables }] of Object.entries(VENDORS)) {
    const variable = variables.find((name) => environment[name])
    if (variable === undefined) continue
    const isAddress = vendor === 'ollama'
    const url = isAddress ? environment[variable] : vendorAddress(vendor, environment)
    return [await examineAddress(url ?? '', 'Models', `${variable} is set`)]
  }
  const message = 'No key is set: llm/auto answers with the offline model.'
  const advice = `Set one in .env for a real model: ${PROVIDERS.map(({ variable }) => variable).join(', ')}`
  return [finding('warning', 'Models', message, advice)]
}

function examineAddresses({ addresses }: UsedModules): Promise<Finding[]> {
  return Promise.all(
    [...addresses].map(([url, places]) => examineAddress(url, 'Addresses', `For ${places.join(', ')}`)),
  )
}

async function examineAddress(address: string, subject: string, reason: string): Promise<Finding> {
  const url = withoutCredentials(address)
  const problem = await reach(url)
  if (problem === undefined) return ok(subject, `${reason}, ${url} answers.`)
  const message = `${reason}, but ${url} cannot be reached: ${problem}`
  return finding('problem', subject, message, 'Check the network, a proxy, or the address.')
}

/** `fetch` takes no address with a user and a password. */
function withoutCredentials(address: string): string {
  if (!URL.canParse(address)) return address
  const { protocol, host, pathname } = new URL(address)
  return `${protocol}//${host}${pathname.replace(/\/$/, '')}`
}

/** @returns undefined when something answers, otherwise why not */
async function reach(url: string): Promise<string | undefined> {
  try {
    await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(REACH_TIMEOUT_MS) })
    return undefined
  } catch (error) {
    const cause = fieldsOf(error).cause ?? error
    return systemCodeOf(cause) ?? messageOf(cause)
  }
}

/** A development server of this project holds its port by right. */
async function examinePort(port: number | undefined): Promise<Finding> {
  const running = findServer()
  const isMeant = running !== undefined && (port === undefined || new URL(running).port === String(port))
  if (!isMeant) return examineFreePort(port ?? defaultPort())
  return ok('Port', `${new URL(running).port}: the development server of this project.`)
}

function examineFreePort(port: number): Promise<Finding> {
  const listening = new Promise<Finding>((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.close(() => resolve(ok('Port', `${port} is free.`)))
    })
  })
  // Node throws for a number that no port has.
  return listening.catch((error: NodeJS.ErrnoException) => {
    const message = error.code === 'EADDRINUSE' ? `${port} is in use.` : `${port} cannot be used: ${error.message}`
    return finding(
      'warning',
      'Port',
      message,
      `Choose another: agent-host dev --port ${port < 65_535 ? port + 1 : 8000}`,
    )
  })
}

/** Traces and responses are written below the project, into folders that are there or will be. */
async function examineStore(projectDir: string): Promise<Finding> {
  const folders = ['debug', 'responses'].map((name) => join(projectDir, name)).filter((folder) => existsSync(folder))
  for (const folder of [projectDir, ...folders]) {
    try {
      await access(folder, constants.W_OK)
    } catch {
      const message = `${folder} cannot be written.`
      return finding('problem', 'Stores', message, 'Traces and responses are stored there.')
    }
  }
  return ok('Stores', 'debug/ and responses/ can be written.')
}

async function examinePython(projectDir: string): Promise<Finding> {
  const own = join(projectDir, '.venv/bin/python')
  for (const command of [...(existsSync(own) ? [own] : []), 'python3', 'python']) {
    const { failed, stdout } = await runProgram(command, ['--version'], { timeout: REACH_TIMEOUT_MS })
    if (!failed) return ok('Python', `${stdout} (${command})`)
  }
  const advice = 'Only tools in Python need it.'
  return finding('warning', 'Python', 'There is no Python 3 on this machine.', advice)
}

async function examineEjected(projectDir: string): Promise<Finding[]> {
  const { offerItems } = await import('../eject/offer-items.ts')
  const ejected = (await offerItems(projectDir)).filter((item) => item.ejected)
  const stale = ejected.filter(({ outdated }) => outdated === true).map(({ reference }) => reference)
  if (ejected.length === 0) return []
  if (stale.length === 0) return [ok('Ejected', `${ejected.length}, all up to date.`)]
  const message = `agent-host has newer versions of ${stale.join(', ')}.`
  return [finding('warning', 'Ejected', message, 'Merge them: agent-host eject upgrade --dry-run')]
}

function ok(subject: string, message: string): Finding {
  return { state: 'ok', subject, message }
}

function finding(state: Finding['state'], subject: string, message: string, advice: string): Finding {
  return { state, subject, message, advice }
}
