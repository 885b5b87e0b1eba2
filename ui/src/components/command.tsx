import { CopyButton } from './copy-button.tsx'

/** A command to copy. */
export function Command({ text }: { text: string }) {
  return (
    <div class="command">
      <code tabIndex={0}>{text}</code>
      <CopyButton isQuiet text={text} label="Copy the command" />
    </div>
  )
}
