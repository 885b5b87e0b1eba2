import { expect } from 'chai'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { excerpt, formatTick } from '../../../ui/src/format.ts'
import { writeSequenceSvg } from '../../../ui/src/run/sequence-svg.ts'

const at = (hours: number, minutes = 0, seconds = 0) => new Date(2026, 10, 22, hours, minutes, seconds).getTime() / 1000

describe('texts of the debug UI', () => {
  it('label axes by a 24-hour clock, with seconds if they differ, and the day at midnight', () => {
    expect(formatTick(at(14, 3), 600)).match(/^14[:.]03$/)
    expect(formatTick(at(0, 30), 600)).match(/^00[:.]30$/)
    expect(formatTick(at(14, 3, 15), 15)).match(/^14[:.]03[:.]15$/)
    expect(formatTick(at(0), 600)).contain('22')
    expect(formatTick(at(12), 86_400)).contain('22')
  })

  it('measure durations in the unit that reads best', () => {
    const texts = [0, 0.25, 4.26, 999.4, 999.6, 12_340, 125_000].map(formatDuration)
    expect(texts).deep.equal(['0 ms', '0.25 ms', '4.3 ms', '999 ms', '1.00 s', '12.3 s', '2 min 5 s'])
  })

  it('stand in the file of a diagram without characters that XML does not have', () => {
    const columns = [{ id: 'a\u0001<&\u202e', x: 10 }]
    const svg = writeSequenceSvg({ columns, gaps: [], rows: [], bars: [], lanes: new Map(), width: 20, height: 10 })
    expect(svg).contain('>a\\u0001&#60;&#38;\\u202e</text>')
  })

  it('begin an answer without its Markdown', () => {
    const answer =
      'Order **A1**:\n\n| Item | Size |\n| --- | --- |\n| Jacket | M |\n\n```bash\ncurl https://a.example\n```'
    expect(excerpt(answer)).equal('Order A1 : Item Size Jacket M curl https://a.example')
    expect(excerpt('snake_case - and 3 * 4')).equal('snake_case - and 3 4')
  })
})
