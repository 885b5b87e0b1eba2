import { type IdempotentRequest, type OpenedProject, openProject, type TenantRuns } from 'agent-host'
import { expect } from 'chai'
import { makeProject } from '../../support/temp-project.ts'

const FILES = {
  'agents/counter.yml': 'id: counter\nmodules: [{ id: main, module: counter }]',
  'modules/counter.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
globalThis.counted = 0
export default defineModule({ name: 'Counter', provides: [TextMessageHandler], uses: { response: Response }, create: ({ response }) => ({
  handleText(text) { if (text === 'fail') throw new Error('no'); response.respondText(String(++globalThis.counted)) } }) })`,
}

describe('runs of an adapter with a key of the client', () => {
  let one: OpenedProject
  let two: OpenedProject

  beforeEach(async () => {
    const { dir } = await makeProject(FILES)
    const open = () => openProject({ projectDir: dir, logLevel: 'silent', drainTimeout: 0 })
    ;[one, two] = [await open(), await open()]
  })
  afterEach(() => Promise.all([one.close(), two.close()]))

  const asked = (content: string, idempotency?: IdempotentRequest) => {
    return { agent: 'counter', messages: [{ role: 'user' as const, content }], idempotency }
  }
  const begin = (runs: TenantRuns, key: string, text: string) =>
    runs.once(
      key,
      { text },
      {
        first: async (idempotency) => {
          const run = await runs.begin(asked(text, idempotency))
          return `first ${(await run.result).runId}`
        },
        again: async (id) => {
          if (!(await runs.find(id))) return undefined
          await runs.outcome(id).catch(() => {})
          return `again ${id}`
        },
      },
    )
  const start = (runs: TenantRuns, key: string, text: string) =>
    runs.once(
      key,
      { text },
      {
        first: async (idempotency) => (await runs.start(asked(text, idempotency))).id,
        again: async (id) => id,
      },
    )

  for (const [name, ask] of Object.entries({ begin, start }))
    it(`${name} once, by whichever process and however many ask at a time`, async () => {
      const servers = [one, two, one, two].map(({ runs }) => runs.of(''))
      const answers = await Promise.all(servers.map((runs) => ask(runs, 'k', 'hi')))
      const ids = new Set(answers.map((answer) => answer.replace(/^(first|again) (resp_)?|^resp_/, '')))
      expect(ids.size).to.equal(1)
      expect(await ask(two.runs.of(''), 'k', 'hi')).to.contain([...ids][0])
      const runs = one.runs.of('')
      expect((await runs.outcome(`resp_${[...ids][0]}`)).text).to.equal(String(Reflect.get(globalThis, 'counted')))
    })

  it('begin once in each tenant, refuse another body, and answer again for a run that has failed', async () => {
    const runs = one.runs.of('')
    const first = await begin(runs, 'k', 'hi')
    expect(await begin(one.runs.of('acme'), 'k', 'hi')).to.not.contain(first.slice(6))
    expect(await begin(runs, 'k', 'other').catch((error) => error.code)).to.equal('RESPONSE_CONFLICT')
    expect(await begin(runs, 'f', 'fail').catch((error) => error.code)).to.equal('AGENT_FAILED')
    expect(await begin(two.runs.of(''), 'f', 'fail')).to.match(/^again /)
  })

  it('keep nothing of a request that was refused before its run', async () => {
    const runs = one.runs.of('')
    const refused = await runs
      .once(
        'k',
        {},
        {
          first: async (idempotency) => runs.start({ ...asked('hi', idempotency), agent: 'nobody' }),
          again: (id) => runs.find(id),
        },
      )
      .catch((error) => error.code)
    expect(refused).to.equal('AGENT_NOT_FOUND')
    const kept = await runs.once(
      'k',
      { other: true },
      { first: (idempotency) => runs.start(asked('hi', idempotency)), again: (id) => runs.find(id) },
    )
    expect((await runs.outcome(kept.id)).text).to.not.equal('')
  })
})
