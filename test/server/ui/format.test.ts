import { expect } from 'chai'
import { excerpt, formatTick } from '../../../ui/src/format.ts'

const at = (hours: number, minutes = 0, seconds = 0) => new Date(2026, 10, 22, hours, minutes, seconds).getTime() / 1000

describe('texts of the debug UI', () => {
  it('mark axes by a 24-hour clock, with seconds where they differ, and the day at midnight', () => {
    expect(formatTick(at(14, 3), 600)).match(/^14[:.]03$/)
    expect(formatTick(at(0, 30), 600)).match(/^00[:.]30$/)
    expect(formatTick(at(14, 3, 15), 15)).match(/^14[:.]03[:.]15$/)
    expect(formatTick(at(0), 600)).contain('22')
    expect(formatTick(at(12), 86_400)).contain('22')
  })

  it('begin an answer without its Markdown', () => {
    const answer =
      'Order **A1**:\n\n| Item | Size |\n| --- | --- |\n| Jacket | M |\n\n```bash\ncurl https://a.example\n```'
    expect(excerpt(answer)).equal('Order A1 : Item Size Jacket M curl https://a.example')
    expect(excerpt('snake_case - and 3 * 4')).equal('snake_case - and 3 4')
  })
})
