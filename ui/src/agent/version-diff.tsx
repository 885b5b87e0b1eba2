import { findDifferences } from '../components/differences.ts'
import { plural } from '../format.ts'

/** Lines that stay the same and are shown before and after a change. */
const CONTEXT = 3

interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
}

/** Lines of a definition that changed from one version to the next, with those around them. */
export function VersionDiff({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = diffLines(before.trimEnd().split('\n'), after.trimEnd().split('\n'))
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ kind }) => kind !== 'same'),
  )
  const changed = lines.filter(({ kind }) => kind !== 'same').length
  if (changed === 0) return <p class="muted version-same">The same text: a file that it uses was changed.</p>
  return (
    <details class="version-diff">
      <summary>{plural(changed, 'changed line')}</summary>
      <pre class="code" tabIndex={0}>
        {lines.map(({ kind, text }, index) =>
          isNear[index] ? (
            <span key={index} class={`diff-line ${kind}`}>
              <span class="diff-mark">{MARKS[kind]}</span>
              {text}
            </span>
          ) : (
            isNear[index - 1] !== false && (
              <span key={index} class="diff-line muted">
                ⋯
              </span>
            )
          ),
        )}
      </pre>
    </details>
  )
}

const MARKS: Readonly<Record<DiffLine['kind'], string>> = { same: ' ', added: '+', removed: '−' }

/** Lines of both texts in one order: what was removed stands before what was added in its place. */
function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const [removed, added] = findDifferences(before, after)
  const lines: DiffLine[] = []
  let next = 0
  const takeAdded = () => {
    for (; added[next]; next++) lines.push({ kind: 'added', text: after[next] ?? '' })
  }
  for (const [index, text] of before.entries()) {
    if (removed[index]) {
      lines.push({ kind: 'removed', text })
      continue
    }
    takeAdded()
    next++
    lines.push({ kind: 'same', text })
  }
  takeAdded()
  return lines
}
