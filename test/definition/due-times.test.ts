import { expect } from 'chai'
import { type FindDue, loadFindDue } from '../../src/definition/due-times.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describe('due times', () => {
  let findDue: FindDue
  before(async () => {
    findDue = await loadFindDue()
  })

  const list = (rule: Parameters<FindDue>[0], from: string, to: string) => {
    const times: string[] = []
    for (let at = Date.parse(from); ; ) {
      const next = findDue(rule, at)
      if (next === undefined || next > Date.parse(to)) return times
      times.push(new Date(next).toISOString().slice(0, 16))
      at = next
    }
  }
  const berlin = { timezone: 'Europe/Berlin' }

  // The table of docs/schedules.md.
  for (const [cron, day, expected] of [
    ['30 2 * * *', '2026-03-29', ['2026-03-29T01:00']],
    ['30 2 * * *', '2026-10-25', ['2026-10-25T00:30']],
    ['0 3 * * *', '2026-03-29', ['2026-03-29T01:00']],
    ['0 3 * * *', '2026-10-25', ['2026-10-25T02:00']],
    ['0 0 * * *', '2026-10-25', ['2026-10-24T22:00']],
  ] as const)
    it(`in Berlin on ${day}, for ${cron}`, () => {
      const start = Date.parse(`${day}T00:00Z`)
      const [from, to] = [start - 3 * 3_600_000, start + 20 * 3_600_000].map((ms) => new Date(ms).toISOString())
      expect(list({ cron, ...berlin }, from ?? '', to ?? '')).to.deep.equal(expected)
    })

  it('come once a day over two years, where the clocks change four times', () => {
    for (const cron of ['30 2 * * *', '0 0 * * *'])
      for (const timezone of ['Europe/Berlin', 'Australia/Lord_Howe']) {
        const times = list({ cron, timezone }, '2026-01-01T12:00:00Z', '2028-01-01T12:00:00Z')
        const days = new Set(times.map((time) => dayIn(timezone, `${time}Z`)))
        expect([times.length, days.size], `${cron} ${timezone}`).to.deep.equal([730, 730])
      }
  })

  it('of an hourly schedule come every hour, also while an hour comes twice', () => {
    const times = list({ cron: '0 * * * *', ...berlin }, '2026-10-20T00:30:00Z', '2026-10-30T00:30:00Z')
    expect(times).to.have.lengthOf(10 * 24)
    expect(new Set(times).size).to.equal(times.length)
  })

  it('of 29 February come every four years', () => {
    const times = list({ cron: '0 9 29 2 *' }, '2026-01-01T00:00:00Z', '2034-01-01T00:00:00Z')
    expect(times).to.deep.equal(['2028-02-29T09:00', '2032-02-29T09:00'])
  })

  it('of an interval are counted from the epoch', () => {
    expect(list({ every: '15m' }, '2026-01-01T00:07:00Z', '2026-01-01T00:45:00Z')).to.deep.equal([
      '2026-01-01T00:15',
      '2026-01-01T00:30',
      '2026-01-01T00:45',
    ])
    expect(findDue({ every: '7d' }, 0)).to.equal(7 * DAY_MS)
  })
})

function dayIn(timeZone: string, time: string): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone }).format(new Date(time))
}
