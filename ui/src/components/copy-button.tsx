import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface CopyButtonProps {
  readonly text: string | (() => string | Promise<string>)
  /** Name of the copied text: `Copy as curl`. */
  readonly label: string
  readonly isQuiet?: boolean
  /** Shown by a quiet button in place of its icon: `curl`. */
  readonly name?: string
}

export function CopyButton({ text, label, isQuiet = false, name }: CopyButtonProps) {
  const [done, setDone] = useState(false)
  const copy = async () => {
    await copyText(typeof text === 'string' ? text : await text())
    setDone(true)
    setTimeout(() => setDone(false), 1500)
  }
  return (
    <button type="button" class={isQuiet ? 'icon-button' : 'button'} onClick={copy} title={label} aria-label={label}>
      {name !== undefined && !done ? name : <Icon name={done ? 'check' : 'copy'} />}
      {!isQuiet && <span>{done ? 'Copied' : label}</span>}
      <span class="hidden" role="status">
        {done ? 'Copied' : ''}
      </span>
    </button>
  )
}

/** The clipboard is only there for pages of this machine and of https. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}
