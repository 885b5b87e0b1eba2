import { expect } from 'chai'
import { openProject } from '../../../src/assembly/open-project.ts'
import type { AssembledProject } from '../../../src/assembly/opened-project.ts'
import { loadFindDue } from '../../../src/definition/due-times.ts'
import { DueRuns } from '../../../src/durable/schedules/due-runs.ts'
import { listSchedules } from '../../../src/durable/schedules/list-schedules.ts'
import type { AgentSchedule } from '../../../src/durable/schedules/schedule-row.ts'
import { Schedules } from '../../../src/durable/schedules/schedules.ts'
import { viewSchedule } from '../../../src/durable/schedules/view-schedule.ts'
import { VISITS } from '../../../src/host/host.ts'
import { resolveServerOptions } from '../../../src/server/options/options.ts'
import { CLIENT_TOOLS_PROJECT } from '../../support/client-tools.ts'
import { eventually } from '../../support/eventually.ts'
import { withinOneMinute } from '../../support/limit-walk.ts'
import { makeProject, type TempProject } from '../../support/temp-project.ts'

const MODULES = `import { defineModule, TextMessageHandler, Response } from 'agent-host'
export default defineModule({ name: 'Work', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(text) {
    if (text === 'slow') await new Promise((resolve) => { globalThis.finishWork = resolve })
    await response.respondText('did ' + text)
  } }) })`

const agentFile = (schedules: string, id = 'work') =>
  `id: ${id}\nschedules:\n  - ${schedules}\nmodules: [{ id: main, module: work }]`

describe('schedules', () => {
  let project: AssembledProject
  let folder: TempProject
  let nowMs: number
  const log: string[] = []

  const open = async (files: Record<string, string>, at = '2026-01-05T07:00:30Z') => {
    folder = await makeProject({ 'modules/work.ts': MODULES, ...CLIENT_TOOLS_PROJECT, ...files })
    nowMs = Date.parse(at)
    await reopen()
  }
  const reopen = async () => {
    const options = resolveServerOptions({ projectDir: folder.dir, logLevel: 'silent', drainTimeout: 0 })
    project = await openProject(options, {})
  }
  const server = async () => {
    const { host, durableRuns: service } = project
    const say = (message: string) => void log.push(message)
    const own = { debug: say, info: say, warn: say, error: say }
    return new Schedules({ host, service, log: own, findDue: await loadFindDue(), now: () => nowMs })
  }
  const follow = async () => {
    const schedules = await server()
    schedules.start()
    await schedules.tick()
    open_.push(schedules)
    return schedules
  }
  const open_: Schedules[] = []
  const tickAt = async (schedules: Schedules, at: string) => {
    nowMs = Date.parse(at)
    await schedules.tick()
    await schedules.tick()
  }
  const outcomes = async () => {
    const [schedule] = listSchedules(project.host)
    if (!schedule) throw new Error('There is no schedule.')
    const runs = new DueRuns({ host: project.host, service: project.durableRuns })
    const { row } = await runs.read(schedule)
    return row.outcomes.map(({ due, run, why }) => [new Date(due).toISOString().slice(5, 19), run ? 'ran' : why])
  }
  const lastRun = async (): Promise<string> => {
    const [schedule] = listSchedules(project.host)
    const runs = new DueRuns({ host: project.host, service: project.durableRuns })
    return (schedule && (await runs.read(schedule)).row.run) || ''
  }
  const ended = async (tenant = '') => project.runs.of(tenant).outcome(await lastRun())

  afterEach(async () => {
    for (const schedules of open_.splice(0)) await schedules.stop()
    log.length = 0
    await project.close()
  })

  it('begin one run at a due time, however many servers look, with its input, time and key', async () => {
    await open({ 'agents/work.yml': agentFile("{ id: morning, cron: '0 8 * * 1-5', input: report, key: nightly }") })
    const servers = await Promise.all([follow(), follow(), follow()])
    nowMs = Date.parse('2026-01-05T08:00:00Z')
    await Promise.all(servers.map((each) => each.tick()))
    expect(await outcomes()).to.deep.equal([['01-05T08:00:00', 'ran']])
    expect((await ended()).text).to.equal('did report')
    const info = await project.durableRuns.opened.store.state(await lastRun())
    expect(info?.facts).to.deep.include({ adapter: 'schedule', agent: 'work', key: 'nightly' })
    expect(info?.facts.data).to.deep.equal({ schedule: 'morning', due: '2026-01-05T08:00:00.000Z' })
  })

  it('count for their key, once for a due time, and wait while its limit is reached', async () => {
    await withinOneMinute()
    await open({ 'agents/work.yml': agentFile('{ id: often, every: 1h, input: report, key: nightly }') })
    let limits = { requests_per_minute: 2 }
    project.host[VISITS].holdersOf = (tenant, key) => [{ tenant, key, limits }]
    const servers = await Promise.all([follow(), follow(), follow()])
    const [first] = servers
    for (const hour of ['08', '09', '10']) {
      nowMs = Date.parse(`2026-01-05T${hour}:00:00Z`)
      await Promise.all(servers.map((each) => each.tick()))
      await ended()
    }
    const ran = ['01-05T09:00:00', '01-05T08:00:00']
    expect((await outcomes()).map(([due]) => due)).to.deep.equal(ran)
    const waits = () => log.filter((line) => line.includes('is tried again: The limit of 2 requests per minute'))
    expect(waits().length).to.equal(servers.length)
    await first?.tick()
    expect(waits().length).to.equal(servers.length)
    limits = { requests_per_minute: 3 }
    await first?.tick()
    expect((await outcomes())[0]).to.deep.equal(['01-05T10:00:00', 'ran'])
  }).timeout(40_000)

  it('skip a due time while their key is not in force, and tell it', async () => {
    await open({ 'agents/work.yml': agentFile('{ id: often, every: 1h, input: report, key: nightly }') })
    let isInForce = false
    project.host[VISITS].hasKey = () => isInForce
    const schedules = await follow()
    await tickAt(schedules, '2026-01-05T08:00:00Z')
    const why = "Nothing starts: the file of keys has no key 'nightly' without a tenant that is in force."
    expect(await outcomes()).to.deep.equal([['01-05T08:00:00', why]])
    expect(log.at(-1)).to.equal(`Schedule 'work/often', due 2026-01-05T08:00:00.000Z: no run. ${why}`)
    isInForce = true
    await tickAt(schedules, '2026-01-05T09:00:00Z')
    expect((await outcomes())[0]).to.deep.equal(['01-05T09:00:00', 'ran'])
    await ended()
  })

  it('skip a due time while the run before goes on, and tell it', async () => {
    await open({ 'agents/work.yml': agentFile('{ id: often, every: 1h, input: slow }') })
    const schedules = await follow()
    await tickAt(schedules, '2026-01-05T08:00:00Z')
    await eventually(() => expect(globalThis).to.have.property('finishWork'))
    await tickAt(schedules, '2026-01-05T09:00:01Z')
    expect(await outcomes()).to.deep.equal([
      ['01-05T09:00:00', 'The run before goes on.'],
      ['01-05T08:00:00', 'ran'],
    ])
    expect(log.at(-1)).to.equal("Schedule 'work/often', due 2026-01-05T09:00:00.000Z: no run. The run before goes on.")
    finish()
    await ended()
    await tickAt(schedules, '2026-01-05T10:00:01Z')
    expect((await outcomes())[0]).to.deep.equal(['01-05T10:00:00', 'ran'])
    await eventually(() => expect(globalThis).to.have.property('finishWork'))
    finish()
    await ended()
  })

  it('queue due times where they are to be queued, also over a restart', async () => {
    await open({ 'agents/work.yml': agentFile('{ id: often, every: 1h, input: slow, overlap: queue }') })
    const schedules = await follow()
    for (const hour of ['08', '09', '10']) await tickAt(schedules, `2026-01-05T${hour}:00:00Z`)
    expect((await outcomes()).map(([, what]) => what)).to.deep.equal([
      'Queued: The run before goes on.',
      'Queued: The run before goes on.',
      'ran',
    ])
    const other = await follow()
    for (const count of [2, 3]) {
      await eventually(() => expect(globalThis).to.have.property('finishWork'))
      finish()
      await ended()
      await eventually(async () => {
        await other.tick()
        expect((await outcomes()).filter(([, what]) => what === 'ran')).to.have.lengthOf(count)
      })
    }
    expect((await outcomes()).map(([at]) => at)).to.deep.equal(['01-05T10:00:00', '01-05T09:00:00', '01-05T08:00:00'])
    await eventually(() => expect(globalThis).to.have.property('finishWork'))
    finish()
    await ended()
  })

  for (const [missed, expected] of [
    ['skip', ['01-05T11:00:00', 'No server was there.']],
    ['once', ['01-05T11:00:00', 'ran']],
  ] as const)
    it(`after a stop over three due times: missed: ${missed}`, async () => {
      await open({ 'agents/work.yml': agentFile(`{ id: often, every: 1h, input: report, missed: ${missed} }`) })
      await (await follow()).stop()
      await project.close()
      await reopen()
      nowMs = Date.parse('2026-01-05T11:30:00Z')
      await follow()
      expect(await outcomes()).to.deep.equal([expected])
    })

  it('begin a run that is up to a minute late as if it were in time, and each of several', async () => {
    await open({ 'agents/work.yml': agentFile('{ id: often, every: 20s, input: report, overlap: queue }') })
    const schedules = await follow()
    await tickAt(schedules, '2026-01-05T07:01:25Z')
    await eventually(async () => {
      await schedules.tick()
      expect((await outcomes()).map(([at, what]) => [at, what])).to.deep.equal([
        ['01-05T07:01:20', 'ran'],
        ['01-05T07:01:00', 'ran'],
        ['01-05T07:00:40', 'ran'],
      ])
    })
  })

  it('continue a conversation, and leave alone what waits in it', async () => {
    const schedules = `{ id: daily, every: 1h, input: pay Lima, conversation: daily }`
    const agent = CLIENT_TOOLS_PROJECT['agents/tools.yml'].replace(
      'id: tools',
      `id: payer\nschedules:\n  - ${schedules}`,
    )
    await open({ 'agents/payer.yml': agent })
    const server = await follow()
    await tickAt(server, '2026-01-05T08:00:00Z')
    const first = await lastRun()
    await ended()
    await tickAt(server, '2026-01-05T09:00:00Z')
    expect((await outcomes())[0]).to.deep.equal([
      '01-05T09:00:00',
      "Something waits for a decision in the conversation 'daily'.",
    ])
    const runs = project.runs.of('')
    const { waiting } = await runs.listWaiting()
    expect(waiting).to.have.lengthOf(1)
    const { continuedBy } = await runs.answer(
      new Map([[waiting[0]?.id ?? '', { kind: 'approval', decision: 'approve' }]]),
      'me',
    )
    await runs.outcome(continuedBy ?? '')
    await tickAt(server, '2026-01-05T10:00:00Z')
    expect((await outcomes())[0]).to.deep.equal(['01-05T10:00:00', 'ran'])
    expect(await runs.find(await lastRun())).to.include({ previousId: continuedBy })
    expect(first).to.not.equal(await lastRun())
  })

  it('do not count a run that waits as one that goes on, without a conversation', async () => {
    const agent = CLIENT_TOOLS_PROJECT['agents/tools.yml'].replace(
      'id: tools',
      'id: payer\nschedules:\n  - { id: daily, every: 1h, input: pay Lima }',
    )
    await open({ 'agents/payer.yml': agent })
    const server = await follow()
    await tickAt(server, '2026-01-05T08:00:00Z')
    await ended()
    await tickAt(server, '2026-01-05T09:00:00Z')
    expect((await outcomes()).map(([, what]) => what)).to.deep.equal(['ran', 'ran'])
  })

  it('belong to their tenant', async () => {
    await open({ 'agents/work.yml': agentFile('{ id: often, every: 1h, input: report, tenant: acme }') })
    const schedules = await follow()
    await tickAt(schedules, '2026-01-05T08:00:00Z')
    const id = await lastRun()
    await ended('acme')
    expect(await project.runs.of('').find(id)).to.equal(undefined)
  })

  it('hold as the file is edited, from then on', async () => {
    await open({ 'agents/work.yml': agentFile('{ id: often, every: 1h, input: report, missed: once }') })
    const schedules = await follow()
    await project.host.replace('work', agentFile("{ id: often, cron: '0 6 * * *', input: report, missed: once }"))
    await tickAt(schedules, '2026-01-05T09:00:00Z')
    expect(await outcomes()).to.deep.equal([])
    await tickAt(schedules, '2026-01-06T06:00:00Z')
    expect(await outcomes()).to.deep.equal([['01-06T06:00:00', 'ran']])
    await ended()
    project.host.unregister('work')
    await tickAt(schedules, '2026-01-07T09:00:00Z')
    await project.host.register(agentFile("{ id: often, cron: '0 6 * * *', input: report, missed: once }"))
    await tickAt(schedules, '2026-01-07T09:00:01Z')
    expect(await outcomes()).to.deep.equal([])
  })

  it('go on, with what waits, when the file is away for a moment, or has other times', async () => {
    const file = agentFile('{ id: often, every: 1h, input: slow, overlap: queue }')
    await open({ 'agents/work.yml': file })
    const schedules = await follow()
    await tickAt(schedules, '2026-01-05T08:00:00Z')
    await tickAt(schedules, '2026-01-05T09:00:00Z')
    const before = await outcomes()
    expect(before.map(([, what]) => what)).to.deep.equal(['Queued: The run before goes on.', 'ran'])
    project.host.unregister('work')
    await project.host.register(file)
    await tickAt(schedules, '2026-01-05T09:00:01Z')
    expect(await outcomes()).to.deep.equal(before)
    await project.host.replace('work', file.replace('1h', '2h'))
    await tickAt(schedules, '2026-01-05T09:00:02Z')
    expect(await outcomes()).to.deep.equal(before)
    for (const count of [1, 2]) {
      await eventually(() => expect(globalThis).to.have.property('finishWork'))
      finish()
      await ended()
      await tickAt(schedules, '2026-01-05T09:00:10Z')
      expect((await outcomes()).filter(([, what]) => what === 'ran').length).to.equal(2, String(count))
    }
  })

  it('survive a clock that jumps: each due time makes one run', async () => {
    await open({ 'agents/work.yml': agentFile('{ id: often, every: 1h, input: report, missed: once }') })
    const schedules = await follow()
    await tickAt(schedules, '2026-01-05T08:00:00Z')
    await ended()
    await tickAt(schedules, '2036-01-05T08:30:00Z')
    await ended()
    await tickAt(schedules, '2026-01-05T08:00:30Z')
    await tickAt(schedules, '2026-01-05T09:00:00Z')
    expect((await outcomes()).map(([at, what]) => [at, what])).to.deep.equal([
      ['01-05T09:00:00', 'ran'],
      ['01-05T08:00:00', 'ran'],
      ['01-05T08:00:00', 'ran'],
    ])
  })

  it('say why an agent does not take the input, and go on', async () => {
    const input = 'input: { type: object, properties: { city: { type: string } }, required: [city] }'
    const file = agentFile('{ id: often, every: 1h, input: { city: Lima } }').replace(
      'schedules:',
      `${input}\nschedules:`,
    )
    await open({ 'agents/work.yml': file })
    const schedules = await follow()
    await tickAt(schedules, '2026-01-05T08:00:00Z')
    expect((await ended()).text).to.equal('did {"city":"Lima"}')
  })

  it('are listed, and begin, while the row of another is damaged', async () => {
    const two = "{ id: lost, cron: '0 8 * * *', input: report }\n  - { id: morning, cron: '0 8 * * *', input: report }"
    await open({ 'agents/work.yml': agentFile(two) })
    const schedules = await follow()
    await project.durableRuns.opened.records.commit([['schedule:work:lost:state', '{"half']])
    await tickAt(schedules, '2026-01-05T08:00:00Z')
    const sources = { host: project.host, service: project.durableRuns }
    const views = await Promise.all(listSchedules(project.host).map((each) => viewSchedule(each, sources)))
    expect(views.map(({ id, last }) => [id, last.length])).to.deep.equal([
      ['lost', 0],
      ['morning', 1],
    ])
  })

  it('begin, and are listed, when the row of the run before is damaged', async () => {
    await open({ 'agents/work.yml': agentFile('{ id: often, every: 1h, input: report }') })
    const schedules = await follow()
    await tickAt(schedules, '2026-01-05T08:00:00Z')
    await ended()
    const [schedule] = listSchedules(project.host)
    await project.durableRuns.opened.records.commit([[`response:${await lastRun()}`, '{"half']])
    const sources = { host: project.host, service: project.durableRuns }
    expect((await viewSchedule(schedule as AgentSchedule, sources)).last).to.deep.equal([])
    await tickAt(schedules, '2026-01-05T09:00:00Z')
    expect((await outcomes())[0]).to.deep.equal(['01-05T09:00:00', 'ran'])
  })

  it('due at one minute begin a thousand runs', async () => {
    const many = Array.from({ length: 100 }, (_, index) => `{ id: s${index}, cron: '0 8 * * *', input: report }`)
    const files = Array.from({ length: 10 }, (_, index) => [
      `agents/work${index}.yml`,
      agentFile(many.join('\n  - '), `work${index}`),
    ])
    await open(Object.fromEntries(files))
    const servers = await Promise.all([follow(), follow()])
    nowMs = Date.parse('2026-01-05T08:00:00Z')
    await Promise.all(servers.map((each) => each.tick()))
    const { store } = project.durableRuns.opened
    expect(await store.list({ limit: 2000 })).to.have.lengthOf(1000)
  }).timeout(60_000)

  function finish(): void {
    const all = globalThis as { finishWork?: () => void }
    const { finishWork } = all
    delete all.finishWork
    finishWork?.()
  }
})
