import { Fragment } from 'preact'
import { CopyButton } from './copy-button.tsx'

/** A command to copy. */
export function Command({ text }: { text: string }) {
  return (
    <div class="command">
      <code tabIndex={0}>
        {text.split(' ').map((word, index) => (
          <Fragment key={index}>
            {index > 0 && ' '}
            <span>{word}</span>
          </Fragment>
        ))}
      </code>
      <CopyButton isQuiet text={text} label="Copy the command" />
    </div>
  )
}
