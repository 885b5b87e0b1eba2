import { useLayoutEffect, useRef } from 'preact/hooks'

/** Time within which two keys are one shortcut. */
const SEQUENCE_MS = 800

/** A key as `event.key` names it, with `mod+` before it for Ctrl, or Command on a Mac; or two keys, `g r`. */
export type Shortcuts = Readonly<Record<string, (event: KeyboardEvent) => void>>

/** Listens to keys while the component is mounted. While typing, only Escape and keys with `mod+` count. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts)
  latest.current = shortcuts
  const first = useRef({ key: '', atMs: 0 })
  useLayoutEffect(() => {
    const follow = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey || event.isComposing) return
      const isModified = event.ctrlKey || event.metaKey
      if (!isModified && event.key !== 'Escape' && isTyping(event.target)) return
      if (!isModified && document.querySelector('dialog[open]')) return
      const { key, atMs } = first.current
      first.current = { key: event.key, atMs: event.timeStamp }
      const isSecond = !isModified && event.timeStamp - atMs < SEQUENCE_MS
      const name = isModified ? `mod+${event.key.toLowerCase()}` : event.key
      const act = (isSecond && latest.current[`${key} ${event.key}`]) || latest.current[name]
      if (!act) return
      event.preventDefault()
      act(event)
    }
    addEventListener('keydown', follow)
    return () => removeEventListener('keydown', follow)
  }, [])
}

/** Moves the focus among the elements of a list by arrows, and by `j` and `k`, wherever the focus was before. */
export function useListKeys(selector: string): void {
  const move = (step: number) => {
    const all = [...document.querySelectorAll<HTMLElement>(selector)]
    const at = all.indexOf(document.activeElement as HTMLElement)
    all[Math.max(0, Math.min(all.length - 1, at + step))]?.focus()
  }
  useShortcuts({ ArrowDown: () => move(1), ArrowUp: () => move(-1), j: () => move(1), k: () => move(-1) })
}

/** Puts the focus into a list when its screen opens, so that its keys work at once; never away from where the user is. */
export function useFocus(element: HTMLElement | null): void {
  useLayoutEffect(() => {
    const { activeElement } = document
    if (element && (!activeElement || activeElement === document.body || activeElement.id === 'main'))
      element.focus({ preventScroll: true })
  }, [element])
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
}
