import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { BuiltFiles } from '../../bench/built-files.ts'
import { runCli, runNode } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const DIST = new URL('../../dist/', import.meta.url)
const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter', 'UiApiAdapter']

/** Packages of which code is loaded until a server is ready, bundled or not. */
const PACKAGES = (
  '@fastify/cors @fastify/error @fastify/forwarded @fastify/proxy-addr @fastify/swagger @neon-rs/load ' +
  '@pinojs/redact abstract-logging atomic-sleep avvio chokidar debug detect-libc fast-decode-uri-component ' +
  'fast-deep-equal fast-json-stringify fast-querystring fast-uri fastify fastify-plugin fastq find-my-way ' +
  'has-flag ipaddr.js json-schema-resolver libsql ms on-exit-leak-free pino pino-std-serializers ' +
  'process-warning quick-format-unescaped readdirp ret reusify rfdc safe-regex2 safe-stable-stringify ' +
  'secure-json-parse semver sonic-boom supports-color thread-stream toad-cache typebox yaml'
).split(' ')

/** Code that waits until an option, an agent or a request names it. */
const NAMED = [
  'definition/due-times',
  'definition/settings-file',
  'durable/schedules/',
  'durable/webhooks/webhook-sender',
  'durable/webhooks/webhooks-file',
  'evals/compare',
  'evals/result-file',
  'replicas/',
  'server/adapters/mcp/sdk-protocol',
  'server/adapters/triggers/',
  'server/adapters/ui/mutations',
  'server/adapters/ui/queries/graphql',
  'server/adapters/ui/tapes/rerun-route',
  'server/forget/',
  'server/guards/followed-keys',
  'server/guards/keys-file',
  'store/keyv/keyv-store',
  'store/postgres/postgres-store',
  'store/redis/redis-store',
  'tape/file/read-tape',
  'tape/recording/',
  'tape/replaying/replay.',
  'tape/reruns/',
  'telemetry/run-spans',
  'trace/run-index/',
  'trace/thread/trace-service',
  'trace/traces',
  'wiring/check-schedules',
]

/** Files of agent-host and of the modules of the agent, with a margin of ten; a change that needs more says why. */
const MOST_FILES = 450

describe('What is loaded', () => {
  let coverage: string
  beforeEach(() => {
    coverage = mkdtempSync(join(tmpdir(), 'agent-host-loaded-'))
  })
  afterEach(() => {
    rmSync(coverage, { recursive: true })
  })

  it('until a server of all adapters is ready: what its options and agents name', async () => {
    const { dir } = await makeProject({
      'agents/main.yml': 'id: main\nmodules: [{ id: m, module: echo }]',
      'script.mjs': `import { buildServer } from '${new URL('index.js', DIST)}'
        const adapters = ${JSON.stringify(ADAPTERS)}
        const server = await buildServer({ projectDir: import.meta.dirname, adapters, logLevel: 'silent', port: 0 })
        await server.listen()
        await server.close()`,
    })
    expect(await runNode([`${dir}/script.mjs`], { env: { NODE_V8_COVERAGE: coverage } })).to.include({ stderr: '' })
    const loaded = readLoaded(coverage)
    const own = loaded.filter((file) => packageOf(file) === undefined)
    const packages = [...new Set(loaded.flatMap((file) => packageOf(file) ?? []))].sort()
    expect(packages).deep.equal(PACKAGES)
    expect(own.filter((file) => NAMED.some((name) => file.startsWith(name)))).deep.equal([])
    expect(own.length).to.be.at.most(MOST_FILES)
  })

  for (const args of [['--version'], ['serve', '--help'], []]) {
    it(`by agent-host ${args.join(' ')}: nothing but its text`, async () => {
      expect(await runCli(args, { env: { NODE_V8_COVERAGE: coverage } })).to.include({ exitCode: 0, stderr: '' })
      expect(readLoaded(coverage)).deep.equal(['prebuilt-help.js'])
    })
  }
})

/** Files as they were before the build joined them: `server/server.js`, `node_modules/fastify/lib/reply.js`. */
function readLoaded(coverage: string): string[] {
  const files = new BuiltFiles(DIST)
  const urls = readdirSync(coverage).flatMap((file) => {
    const { result } = JSON.parse(readFileSync(join(coverage, file), 'utf8')) as { result: { url: string }[] }
    return result.map(({ url }) => url)
  })
  const loaded = urls.flatMap((url) => {
    // A file without any source has helpers of the bundler.
    if (url.startsWith(DIST.href)) return files.sourcesOf(url.slice(DIST.href.length))
    const [, installed] = /\/(node_modules\/.*)$/.exec(url) ?? []
    return installed ?? []
  })
  return [...new Set(loaded)].sort()
}

function packageOf(file: string): string | undefined {
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]
}
