import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { HostError } from '../../../src/errors.ts'
import { resolveServerOptions, SERVER_OPTIONS } from '../../../src/server/options/options.ts'

type Raw = Parameters<typeof resolveServerOptions>[0]

function refusal(raw: Record<string, unknown>): string {
  try {
    resolveServerOptions(raw as Raw)
  } catch (error) {
    expect(error).to.be.instanceOf(HostError).and.to.include({ code: 'OPTION_INVALID' })
    return [(error as HostError).message, ...(error as HostError).suggestions].join(' ')
  }
  throw new Error('The options were accepted.')
}

describe('addresses with a password', () => {
  const unencoded = [
    'user:p@sekret#w/ord',
    'user:12/sekret',
    'user:1?sekret',
    'user:sekret%',
    'user:s%ekret',
    'u#sekret',
  ]
  for (const user of unencoded) {
    it(`are refused without showing it: ${user}`, () => {
      for (const [option, scheme] of [
        ['store', 'postgres'],
        ['store', 'redis'],
        ['store', 'redis+sentinel'],
        ['queue', 'rediss'],
      ]) {
        const text = refusal({ [option as string]: `${scheme}://${user}@db.example:5432/name` })
        expect(text).to.match(/^--(store|queue) \(\w+\) must have its user and password percent-encoded: # is %23/)
        expect(text).to.not.match(/sekret|db\.example/)
      }
    })
  }

  it('are taken where it is encoded, with options that hold signs', () => {
    const store = 'postgres://user:p%40s%23%2F%25@db.example:5432/name?application_name=a@b&options=-c%20x'
    expect(resolveServerOptions({ store }).store).to.equal(store)
    const queue = 'redis://user:p@ss@db.example/0?prefix=a'
    expect(resolveServerOptions({ queue }).queue).to.equal(queue)
  })
})

describe('server options', () => {
  it('have the defaults of the specification', () => {
    expect(resolveServerOptions({ projectDir: '/project' })).to.deep.equal({
      projectDir: '/project',
      agentDir: '/project/agents',
      adapters: [],
      adapterOptions: {},
      host: '127.0.0.1',
      port: 8000,
      publicUrl: 'http://127.0.0.1:8000',
      debug: false,
      development: false,
      workerOnly: false,
      debugMaxMb: 256,
      compatApiKey: undefined,
      mcpApiKey: undefined,
      uiToken: undefined,
      jwtAudience: undefined,
      jwtClaims: [],
      jwtIssuer: undefined,
      keys: undefined,
      responsesApiKey: undefined,
      responsesDir: '/project/responses',
      store: 'sqlite',
      queue: undefined,
      record: 0,
      retentionDays: undefined,
      secretKey: undefined,
      streamingTimeout: 10,
      bodyLimit: 10_485_760,
      allowVariants: false,
      allowedHosts: [],
      corsOrigins: [],
      trustedOrigins: [],
      trustedProxies: [],
      auditLog: undefined,
      logLevel: 'info',
      maxConcurrentRuns: 10_000,
      maxBackgroundRuns: 1000,
      maxQueuedRuns: 10_000,
      noWatch: false,
      schedules: false,
      webhookAllowPrivate: false,
      noWorker: false,
      runTimeout: 3600,
      serverName: `${hostname()}-${process.pid}`,
      drainTimeout: 10,
      maxHistoryItems: 10_000,
      maxHistoryMb: 32,
      maxHistoryTurns: 1000,
      maxConnections: 20_000,
      maxConnectionsPerAddress: 0,
      writeTimeout: 30,
      maxUnsentMb: 256,
      authRateLimit: 0,
      requireAuth: false,
      metrics: false,
      noV1: false,
      openMetrics: false,
    })
  })

  it('use the current folder unless another is named', () => {
    expect(resolveServerOptions({}).agentDir).to.equal(resolve('agents'))
  })

  it('cannot be changed afterwards', () => {
    const options = resolveServerOptions({ adapters: ['a'] })
    expect(Object.isFrozen(options) && Object.isFrozen(options.adapters)).to.equal(true)
  })

  const READ: readonly (readonly [Raw, Raw])[] = [
    [{ bodyLimit: '512kb' }, { bodyLimit: 524_288 }],
    [{ bodyLimit: '1.5 MB' }, { bodyLimit: 1_572_864 }],
    [{ bodyLimit: '1000' }, { bodyLimit: 1000 }],
    [{ bodyLimit: 1000 }, { bodyLimit: 1000 }],
    [{ port: '0' }, { port: 0 }],
    [{ debug: 'yes' }, { debug: true }],
    [{ debug: 'FALSE' }, { debug: false }],
    [{ metrics: 'on' }, { metrics: true }],
    [{ adapters: ['a.B', 'c.D,e.F'] }, { adapters: ['a.B', 'c.D', 'e.F'] }],
    [{ allowedHosts: 'one.test, two.test,' }, { allowedHosts: ['one.test', 'two.test'] }],
    [
      { corsOrigins: ['https://a.test, https://B.test', 'https://c.test'] },
      { corsOrigins: ['https://a.test', 'https://b.test', 'https://c.test'] },
    ],
    [{ trustedOrigins: 'https://a.test,https://b.test' }, { trustedOrigins: ['https://a.test', 'https://b.test'] }],
    [{ compatApiKey: undefined }, { compatApiKey: undefined }],
  ]
  for (const [given, read] of READ) {
    it(`${JSON.stringify(given)} is read as ${JSON.stringify(read)}`, () => {
      expect(resolveServerOptions(given)).to.deep.include(read)
    })
  }

  const REFUSED: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ port: 65_536 }, "--port (AGENT_HOST_PORT) must be a whole number from 0 to 65535, not '65536'."],
    [
      { publicUrl: 'https://ann:secret@agents.example' },
      '--public-url (AGENT_HOST_PUBLIC_URL) must be an address without a user name and a password.',
    ],
    [{ port: '' }, "--port (AGENT_HOST_PORT) must be a whole number from 0 to 65535, not ''."],
    [
      { streamingTimeout: 0.5 },
      "--streaming-timeout (AGENT_HOST_STREAMING_TIMEOUT) must be a whole number from 1 to 3600, not '0.5'.",
    ],
    [
      { bodyLimit: '0' },
      "--body-limit (AGENT_HOST_BODY_LIMIT) must be a number of bytes, or like 512kb or 10mb, not '0'.",
    ],
    [
      { bodyLimit: '5 apples' },
      "--body-limit (AGENT_HOST_BODY_LIMIT) must be a number of bytes, or like 512kb or 10mb, not '5 apples'.",
    ],
    [{ host: '300.1.1.1' }, "--host (AGENT_HOST_HOST) must be a host name or an IP address, not '300.1.1.1'."],
    [
      { host: 'http://localhost' },
      "--host (AGENT_HOST_HOST) must be a host name or an IP address, not 'http://localhost'.",
    ],
    [{ compatApiKey: '' }, '--compat-api-key (CUSTOM_COMPAT_API_KEY) must not be empty.'],
    [{ mcpApiKey: '' }, '--mcp-api-key (MCP_API_KEY) must not be empty.'],
    [{ adapters: [1] }, '--adapter (AGENT_HOST_ADAPTER) must be a list of strings.'],
    [
      { corsOrigins: 'a.test' },
      "--cors-origin (AGENT_HOST_CORS_ORIGIN) must be an origin such as https://app.example, not 'a.test'.",
    ],
    [
      { logLevel: 'loud' },
      "--log-level (AGENT_HOST_LOG_LEVEL) must be one of trace, debug, info, warn, error, silent, not 'loud'.",
    ],
    [
      { secretKey: 'short' },
      '--secret-key (AGENT_HOST_SECRET_KEY) must have at least 32 characters: openssl rand -hex 32 makes one.',
    ],
    [{ prot: 1 }, "There is no option 'prot'. Did you mean 'port'?"],
  ]
  for (const [given, message] of REFUSED) {
    it(`rejects ${JSON.stringify(given)}`, () => {
      expect(refusal(given)).to.equal(message)
    })
  }

  it('each have a flag and a variable of their own', () => {
    const facts = Object.values(SERVER_OPTIONS)
    expect(new Set(facts.map(({ flag }) => flag)).size).to.equal(facts.length)
    expect(new Set(facts.map(({ variable }) => variable)).size).to.equal(facts.length)
  })
})
