import { expect } from 'chai'
import { buildServer } from '../../src/server/server.ts'
import { auditLines, eventsOf } from '../support/audit.ts'
import { callCli } from '../support/call-cli.ts'
import { eventually } from '../support/eventually.ts'
import { makeProject } from '../support/temp-project.ts'

const agent = (schedules: string, more = '') =>
  `id: work\n${more}schedules:\n${schedules}\nmodules: [{ id: main, module: echo }]\n`
const OFTEN = '  - { id: often, every: 1s, input: report }'

describe('agent-host schedules', () => {
  it('lists next times and last results, and runs one now for a server on the same store', async () => {
    const { dir, exists } = await makeProject({
      'agents/work.yml': agent("  - { id: leap, cron: '0 8 29 2 *', timezone: Europe/Berlin, input: report }"),
    })
    const { stdout } = await callCli(['schedules'], { cwd: dir })
    expect(stdout).to.match(/^SCHEDULE +WHEN +NEXT +LAST +RESULT +RUN\n/)
    expect(stdout).to.match(/\nwork\/leap {2}0 8 29 2 \* \(Europe\/Berlin\) {2}.*-\n$/)
    expect(exists('responses')).to.equal(false)
    const [, id] =
      /^Queued run (resp_\S+)\.\n$/.exec((await callCli(['schedules', 'run', 'work/leap'], { cwd: dir })).stdout) ?? []
    expect((await callCli(['schedules'], { cwd: dir })).stdout).to.match(new RegExp(`queued +${id}\n`))
    const server = await buildServer({ projectDir: dir, logLevel: 'silent' })
    try {
      await eventually(async () =>
        expect((await callCli(['schedules'], { cwd: dir })).stdout).to.match(new RegExp(`completed +${id}\n`)),
      )
    } finally {
      await server.close()
    }
  })

  it('run: writes the audit log', async () => {
    const { dir, path } = await makeProject({ 'agents/work.yml': agent(OFTEN) })
    const args = ['schedules', 'run', 'work/often', '--audit-log', 'audit.jsonl']
    const [, uuid] = /^Queued run resp_(\S+)\.\n$/.exec((await callCli(args, { cwd: dir })).stdout) ?? []
    const queued = eventsOf(auditLines(path('audit.jsonl')), 'run_queued')
    expect(queued.map(({ run_id }) => run_id)).to.deep.equal([uuid])
  })

  it('run: names the schedules when there is no such one', async () => {
    const { dir } = await makeProject({ 'agents/work.yml': agent(OFTEN) })
    const { stderr, exitCode } = await callCli(['schedules', 'run', 'work/oftn'], { cwd: dir })
    expect([exitCode, stderr]).to.deep.equal([
      2,
      "Error: There is no schedule 'work/oftn'.\n  Did you mean 'work/often'?\n  Schedules: work/often\n",
    ])
  })
})

describe('schedules of an agent file', () => {
  it('fire on a server with the option, and on no other', async () => {
    const { dir, exists } = await makeProject({ 'agents/work.yml': agent(OFTEN) })
    const quiet = await buildServer({ projectDir: dir, logLevel: 'silent' })
    await quiet.close()
    expect(exists('responses')).to.equal(false)
    const server = await buildServer({ projectDir: dir, logLevel: 'silent', schedules: true })
    await server.app.ready()
    try {
      await eventually(async () =>
        expect((await callCli(['schedules'], { cwd: dir })).stdout).to.match(/completed +resp_/),
      )
    } finally {
      await server.close()
    }
  })

  for (const [title, schedule, problem] of [
    [
      'a cron that never matches',
      "{ id: a, cron: '0 0 30 2 *', input: x }",
      "agents/work.yml:3:14: schedule 'a': '0 0 30 2 *' never matches: there is no such date.",
    ],
    [
      'a cron that is none',
      '{ id: a, cron: daily, input: x }',
      "agents/work.yml:3:14: schedule 'a': 'daily' is no cron expression: ",
    ],
    [
      'six fields',
      "{ id: a, cron: '0 0 8 * * *', input: x }",
      "agents/work.yml:3:14: schedule 'a': '0 0 8 * * *' is no cron expression: ",
    ],
    ...["'2027-01-31T08:00:00'", "'0 8:30 * * *'"].map((cron): [string, string, string] => [
      `a moment, ${cron}`,
      `{ id: a, cron: ${cron}, input: x }`,
      `agents/work.yml:3:14: schedule 'a': ${cron} is no cron expression: it holds a ':'`,
    ]),
    [
      'an unknown time zone',
      "{ id: a, cron: '0 8 * * *', timezone: Mars/X, input: x }",
      "schedule 'a': there is no time zone 'Mars/X'.",
    ],
    ['neither cron nor every', '{ id: a, input: x }', "schedule 'a': it needs either 'cron' or 'every'."],
    ['both', "{ id: a, every: 1h, cron: '0 8 * * *', input: x }", "schedule 'a': it needs either 'cron' or 'every'."],
    [
      'an interval that is none',
      '{ id: a, every: 0m, input: x }',
      'schedules[0].every must be a number and s, m, h or d, such as 15m.',
    ],
    [
      'an object without a schema',
      '{ id: a, every: 1h, input: { city: Lima } }',
      "schedule 'a': the agent has no input schema, so its input is a text.",
    ],
    [
      'two of one id',
      '{ id: a, every: 1h, input: x }\n  - { id: a, every: 2h, input: x }',
      "agents/work.yml:4:7: Two schedules have the id 'a'.",
    ],
  ] as const)
    it(`check names ${title}`, async () => {
      const { dir } = await makeProject({ 'agents/work.yml': agent(`  - ${schedule}`) })
      const { exitCode, stderr } = await callCli(['check'], { cwd: dir })
      expect(stderr).to.contain(problem)
      expect(exitCode).to.equal(1)
    })

  it('check names an input that does not fit the schema of the agent', async () => {
    const input = 'input: { type: object, properties: { city: { type: string } }, required: [city] }\n'
    const { dir } = await makeProject({
      'agents/work.yml': agent('  - { id: a, every: 1h, input: { city: 1 } }', input),
    })
    const { stderr } = await callCli(['check'], { cwd: dir })
    expect(stderr).to.contain("schedule 'a': input: city must be a string")
  })
})
