import { IconButton } from '../components/icon-button.tsx'
import { Notice } from '../components/notice.tsx'
import { useShortcuts } from '../keyboard.ts'
import { href } from '../router.ts'
import { useCallPayload } from '../run/call-payload.ts'
import { nameCall } from '../run/trace-rows.ts'
import type { RunSummary } from '../types.ts'
import { type CallTexts, textsOf } from './call-texts.ts'
import type { ComparedCalls } from './compare-runs.ts'
import { MarkedTexts } from './marked-texts.tsx'

interface ComparePanelProps {
  readonly runs: readonly [RunSummary, RunSummary]
  readonly pair: ComparedCalls
  readonly onClose: () => void
}

/** Two calls side by side: what was asked, and what came of it, with the words that differ. */
export function ComparePanel({ runs: [first, second], pair: { left, right, differs }, onClose }: ComparePanelProps) {
  const one = useCallPayload(left?.runId ?? first.run_id, left)
  const other = useCallPayload(right?.runId ?? second.run_id, right)
  useShortcuts({ Escape: onClose })
  const call = left ?? right
  if (!call) return null
  const texts = [
    left && one.payload && textsOf(left, one.payload),
    right && other.payload && textsOf(right, other.payload),
  ]
  const isModel = call.kind === 'model'
  return (
    <aside class="panel side compare-panel" aria-label="Selected calls" tabIndex={0}>
      <div class={`panel-head kind-${call.kind}`}>
        <h2>{nameCall(call).name}</h2>
        <IconButton icon="close" label="Close" shortcut="Esc" onClick={onClose} />
      </div>
      <p class="facts dotted muted">
        {left && <a href={href(['runs', first.run_id], { call: left.id })}>Open in the first run</a>}
        {right && <a href={href(['runs', second.run_id], { call: right.id })}>Open in the second run</a>}
        {(!left || !right) && <span class="warn-text">only in the {left ? 'first' : 'second'} run</span>}
      </p>
      {[one.error, other.error].filter(Boolean).map((error) => (
        <Notice key={error} kind="bad" title={error} />
      ))}
      <Texts title={isModel ? 'Prompt' : 'Arguments'} texts={texts} part="asked" isSame={isAlike(differs, 'asked')} />
      <Texts title={isModel ? 'Answer' : 'Result'} texts={texts} part="given" isSame={isAlike(differs, 'given')} />
    </aside>
  )
}

function isAlike(differs: ComparedCalls['differs'], part: keyof CallTexts): boolean {
  return !differs.includes(part)
}

interface TextsProps {
  readonly title: string
  readonly texts: readonly (CallTexts | null | undefined)[]
  readonly part: keyof CallTexts
  readonly isSame: boolean
}

function Texts({ title, texts, part, isSame }: TextsProps) {
  const [one, other] = texts.map((each) => each?.[part])
  if (one === undefined && other === undefined) return null
  const isTwice = one !== undefined && other !== undefined
  if (isTwice && isSame) {
    return (
      <>
        <h3>
          {title} <span class="muted">the same in both</span>
        </h3>
        <pre class="compare-text" tabIndex={0}>
          {one}
        </pre>
      </>
    )
  }
  return (
    <>
      <h3>{title}</h3>
      <MarkedTexts labels={['First', 'Second']} one={one} other={other} />
    </>
  )
}
