import { useEffect, useRef } from 'preact/hooks'
import { cleanText } from '../../../src/wire/clean-text.ts'
import { markDifferences } from '../play/mark-differences.ts'
import '../styles/compare.css'

interface MarkedTextsProps {
  readonly labels: readonly [string, string]
  /** Undefined where there is none. */
  readonly one: string | undefined
  readonly other: string | undefined
}

/** Two texts, one below the other, with the words that differ. */
export function MarkedTexts({ labels, one, other }: MarkedTextsProps) {
  const first = useRef<HTMLPreElement>(null)
  const second = useRef<HTMLPreElement>(null)
  useEffect(() => {
    if (first.current && second.current) return markDifferences([first.current, second.current])
  }, [one, other])
  return (
    <>
      {one !== undefined && <Labelled label={labels[0]} text={one} place={first} />}
      {other !== undefined && <Labelled label={labels[1]} text={other} place={second} />}
    </>
  )
}

interface LabelledProps {
  readonly label: string
  readonly text: string
  readonly place: { current: HTMLPreElement | null }
}

function Labelled({ label, text, place }: LabelledProps) {
  return (
    <figure class="compare-side">
      <figcaption class="muted">{label}</figcaption>
      <pre class="compare-text" ref={place} tabIndex={0}>
        {cleanText(text) || '–'}
      </pre>
    </figure>
  )
}
