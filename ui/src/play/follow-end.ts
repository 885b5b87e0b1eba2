import { useEffect } from 'preact/hooks'

/** Distance to the end, in pixels, at which a reader still counts as being there. */
const NEAR = 60

/**
 * Keeps the end of a log in view while it grows, as long as its reader is there: who has scrolled up, or opened something to
 * read, stays in place.
 *
 * @param last what the newest entry is: a new one is always shown
 * @param isPair answers stand side by side: they are shown from their beginning
 */
export function useFollowEnd(log: HTMLElement | null, last: unknown, isPair: boolean): void {
  useEffect(() => {
    if (!log) return
    if (isPair) return [...log.querySelectorAll('.message.user')].at(-1)?.scrollIntoView({ block: 'start' })
    let isAtEnd = true
    let shownAt = 0
    const look = () => {
      isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR
      shownAt = log.scrollTop
    }
    const show = () => {
      // Scrolled up: the event comes a frame later.
      if (log.scrollTop < shownAt) look()
      if (!isAtEnd) return
      log.scrollTop = log.scrollHeight
      shownAt = log.scrollTop
    }
    const stay = ({ target }: MouseEvent) => {
      if (target instanceof Element && target.closest('summary')) isAtEnd = false
    }
    const grown = new MutationObserver(show)
    grown.observe(log, { childList: true, characterData: true, subtree: true })
    const resized = new ResizeObserver(show)
    resized.observe(log)
    log.addEventListener('scroll', look, { passive: true })
    log.addEventListener('load', show, { capture: true })
    log.addEventListener('click', stay, { capture: true })
    show()
    return () => {
      grown.disconnect()
      resized.disconnect()
      log.removeEventListener('scroll', look)
      log.removeEventListener('load', show, { capture: true })
      log.removeEventListener('click', stay, { capture: true })
    }
  }, [log, last, isPair])
}
