import { expect } from 'chai'
import { buildServer } from '../../src/server/server.ts'
import { AGENTS, chat } from './server.ts'
import { makeProject } from './temp-project.ts'
import { keysFile, Visitor } from './tenant-visitor.ts'

const LIMIT = 100
const REQUESTS = 150

/** Waits for a minute that has some seconds left: limits are those of fixed minutes. */
export async function withinOneMinute(neededMs = 12_000): Promise<void> {
  const leftMs = 60_000 - (Date.now() % 60_000)
  if (leftMs < neededMs) await new Promise((resolve) => setTimeout(resolve, leftMs + 100))
}

/**
 * Sends 150 requests at once with a key of 100 a minute, to servers that share a store.
 *
 * @param store left out: the embedded one
 */
export async function expectLimitKept(servers: number, store?: string): Promise<void> {
  const keys = keysFile([{ name: 'ada', scopes: ['run'], limits: { requests_per_minute: LIMIT } }])
  const { dir: projectDir } = await makeProject({ ...AGENTS, 'keys.yml': keys })
  const options = {
    projectDir,
    adapters: ['ChatCompatApiAdapter'],
    keys: 'keys.yml',
    port: 0,
    logLevel: 'silent' as const,
    ...(store && { store }),
  }
  const open = await Promise.all(Array.from({ length: servers }, () => buildServer(options)))
  try {
    const visitors = await Promise.all(open.map(async ({ listen }) => new Visitor(await listen(), '', 'ada')))
    await withinOneMinute(20_000)
    const startedMs = Date.now()
    const answers = await Promise.all(
      Array.from({ length: REQUESTS }, (_, index) =>
        (visitors[index % servers] as Visitor).ask('POST', '/v1/chat/completions', chat('echo', 'hi')),
      ),
    )
    const isOneMinute = Math.floor(startedMs / 60_000) === Math.floor(Date.now() / 60_000)
    const admitted = answers.filter(({ status }) => status === 200).length
    expect(answers.filter(({ status }) => status === 429).length).to.equal(REQUESTS - admitted)
    expect(isOneMinute, 'the requests took longer than their minute').to.equal(true)
    expect(admitted).to.be.within(LIMIT * 0.98, LIMIT)
  } finally {
    await Promise.all(open.map((server) => server.close()))
  }
}
