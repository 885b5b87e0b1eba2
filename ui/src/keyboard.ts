import { useEffect, useRef } from 'preact/hooks'

/** A key as `event.key` names it, with `mod+` before it for Ctrl, or Command on a Mac. */
export type Shortcuts = Readonly<Record<string, (event: KeyboardEvent) => void>>

/** Listens to keys while the component is mounted. While typing, only Escape and keys with `mod+` count. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts)
  latest.current = shortcuts
  useEffect(() => {
    const follow = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey || event.isComposing) return
      const isModified = event.ctrlKey || event.metaKey
      if (!isModified && event.key !== 'Escape' && isTyping(event.target)) return
      if (!isModified && document.querySelector('dialog[open]')) return
      const act = latest.current[isModified ? `mod+${event.key.toLowerCase()}` : event.key]
      if (!act) return
      event.preventDefault()
      act(event)
    }
    addEventListener('keydown', follow)
    return () => removeEventListener('keydown', follow)
  }, [])
}

/** Puts the focus into a list when its screen opens, so that its keys work at once; never away from where the user is. */
export function useFocus(element: HTMLElement | null): void {
  useEffect(() => {
    const { activeElement } = document
    if (element && (!activeElement || activeElement === document.body || activeElement.id === 'main'))
      element.focus({ preventScroll: true })
  }, [element])
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
}
