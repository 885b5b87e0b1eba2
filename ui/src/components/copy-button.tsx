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
  const [outcome, setOutcome] = useState<'' | 'Copied' | 'Not copied'>('')
  const copy = async () => {
    const isCopied = await copyText(text).catch(() => false)
    setOutcome(isCopied ? 'Copied' : 'Not copied')
    setTimeout(() => setOutcome(''), 1500)
  }
  return (
    <button type="button" class={isQuiet ? 'icon-button' : 'button'} onClick={copy} title={label} aria-label={label}>
      {name !== undefined && !outcome ? name : <Icon name={ICONS[outcome]} />}
      {!isQuiet && <span>{outcome || label}</span>}
      <span class="hidden" role="status">
        {outcome}
      </span>
    </button>
  )
}

const ICONS = { '': 'copy', Copied: 'check', 'Not copied': 'close' } as const

/** The clipboard is only there for pages of this machine and of https, and may be forbidden. @returns whether the text is in it */
async function copyText(given: CopyButtonProps['text']): Promise<boolean> {
  const text = typeof given === 'string' ? given : await given()
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    document.body.append(area)
    area.select()
    const isCopied = document.execCommand('copy')
    area.remove()
    return isCopied
  }
}
