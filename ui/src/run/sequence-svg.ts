import { nameMethod } from '../../../src/trace/calls/call-tree.ts'
import { cleanText } from '../../../src/wire/clean-text.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { participantName } from '../format.ts'
import { barEdge, HEAD_HEIGHT, LANE, type SequenceLayout, type SequenceRow } from './sequence-layout.ts'

const INK = { text: '#171a21', muted: '#59616f', line: '#c9ced7', accent: '#3a4fd0', soft: '#eceefc', bad: '#b42318' }

/** Writes the whole diagram as an SVG file that stands for itself. */
export function writeSequenceSvg(layout: SequenceLayout): string {
  const { width, columns, bars } = layout
  const height = layout.height + HEAD_HEIGHT
  const lines = columns.map(
    ({ x }) => `<path d="M${x} ${HEAD_HEIGHT}V${height}" stroke="${INK.line}" stroke-dasharray="3 4"/>`,
  )
  const names = columns.map(({ id, x }) => text(participantName(id), x, 26, INK.text, 'middle', 'bold'))
  const boxes = bars.map(({ column, lane, top, bottom, call }) => {
    const x = (columns[column]?.x ?? 0) + lane * LANE - LANE / 2
    const ink = call.status === 'failed' ? INK.bad : INK.accent
    const size = `width="${LANE}" height="${Math.max(4, bottom - top)}"`
    return `<rect x="${x}" y="${top + HEAD_HEIGHT}" ${size} rx="2" fill="${INK.soft}" stroke="${ink}"/>`
  })
  const rows = layout.rows.map((row) => writeRow(row, layout))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12">`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    ...lines,
    ...names,
    ...boxes,
    ...rows,
    '</svg>',
    '',
  ].join('\n')
}

function writeRow(row: SequenceRow, { columns, gaps, lanes }: SequenceLayout): string {
  const y = row.y + HEAD_HEIGHT
  const [from, to] = [columns[row.from]?.x ?? 0, columns[row.to]?.x ?? 0]
  if (row.kind === 'fold') return text(`↻ ${row.fold.count} more`, from, y + 4, INK.muted, 'start')
  const { call } = row
  const { left, right } = gaps[Math.max(row.from, row.to)] ?? { left: from, right: to }
  const edge = barEdge(to, lanes.get(call.id) ?? 0, to < from)
  const ink = call.status === 'failed' ? INK.bad : row.kind === 'call' ? INK.text : INK.muted
  const dashes = row.kind === 'return' ? ' stroke-dasharray="4 3"' : ''
  const [start, end] = row.kind === 'call' ? [from, edge] : [edge, from]
  const tip = end >= start ? -6 : 6
  const label = row.kind === 'call' ? nameMethod(call) : formatDuration(call.durationMs)
  return [
    `<path d="M${start} ${y}H${end}m${tip}-3.5l${-tip} 3.5l${tip} 3.5" fill="none" stroke="${ink}"${dashes}/>`,
    text(label, (left + right) / 2, y - 5, ink, 'middle'),
  ].join('')
}

function text(content: string, x: number, y: number, ink: string, anchor: string, weight = 'normal'): string {
  // Models name tools as they like, and XML has no control characters.
  const escaped = cleanText(content).replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`)
  return `<text x="${x}" y="${y}" fill="${ink}" text-anchor="${anchor}" font-weight="${weight}">${escaped}</text>`
}
