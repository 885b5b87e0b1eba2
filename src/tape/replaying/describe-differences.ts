/** Returns the differences of two JSON values: `messages[1].content: recorded "a", asked "b"`. */
export function describeDifferences(recorded: unknown, asked: unknown, path = ''): string[] {
  if (isContainer(recorded) && isContainer(asked) && Array.isArray(recorded) === Array.isArray(asked)) {
    const names = [...new Set([...Object.keys(recorded), ...Object.keys(asked)])]
    return names.flatMap((name) =>
      describeDifferences(recorded[name], asked[name], join(path, name, Array.isArray(asked))),
    )
  }
  return recorded === asked ? [] : [`${path}: recorded ${show(recorded, asked)}, asked ${show(asked, recorded)}`]
}

type Container = Readonly<Record<string, unknown>>

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null
}

function join(path: string, name: string, isIndex: boolean): string {
  if (isIndex) return `${path}[${name}]`
  return path === '' ? name : `${path}.${name}`
}

const MOST_CHARS = 60

/** The part of a long text where it starts to differ. */
function show(value: unknown, other: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value)
  if (text.length <= MOST_CHARS) return text
  const compared = JSON.stringify(other) ?? ''
  let same = 0
  while (same < text.length && text[same] === compared[same]) same++
  const start = Math.max(0, Math.min(same - 20, text.length - MOST_CHARS))
  return `${start > 0 ? '…' : ''}${text.slice(start, start + MOST_CHARS)}${start + MOST_CHARS < text.length ? '…' : ''}`
}
