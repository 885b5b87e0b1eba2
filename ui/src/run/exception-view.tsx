import { useState } from 'preact/hooks'
import { CopyButton } from '../components/copy-button.tsx'

/** An absolute path with its line in a stack, as V8 writes it. */
const PLACE = /((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/])[^\s():]+):(\d+)(?::(\d+))?/

interface ExceptionViewProps {
  readonly text: string
  /** With all frames, to be copied. */
  readonly whole: string
  readonly title: string
  /** False when it was thrown because the run was stopped. */
  readonly isBad: boolean
}

/** Message and stack, with the frames of packages on request; places in the project's own code open in the editor. */
export function ExceptionView({ text, whole, title, isBad }: ExceptionViewProps) {
  const [isWhole, setWhole] = useState(false)
  return (
    <section>
      <div class="panel-head">
        <h3>{title}</h3>
        {text !== whole && (
          <button type="button" class="link" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? 'Project frames' : 'All frames'}
          </button>
        )}
        <CopyButton isQuiet text={whole} label="Copy exception" />
      </div>
      <pre class={`code exception ${isBad ? 'bad-text' : 'muted'}`} tabIndex={0}>
        {(isWhole ? whole : text).split('\n').map((line, index) => (
          <StackLine key={index} line={line} />
        ))}
      </pre>
    </section>
  )
}

function StackLine({ line }: { line: string }) {
  const place = PLACE.exec(line)
  const path = place?.[1]?.replace('file://', '')
  if (!place || path === undefined || /node_modules|^node:/.test(path) || !/^\s+at /.test(line))
    return <>{`${line}\n`}</>
  const [whole, , row, column = '1'] = place
  return (
    <>
      {line.slice(0, place.index)}
      <a href={`vscode://file${path.startsWith('/') ? '' : '/'}${path}:${row}:${column}`}>{whole}</a>
      {`${line.slice(place.index + whole.length)}\n`}
    </>
  )
}
