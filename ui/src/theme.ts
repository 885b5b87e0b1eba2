import { useEffect, useState } from 'preact/hooks'

/** `auto` follows the system. */
export const THEMES = ['auto', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'agent-host.theme'

function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(KEY)
    return kept === 'light' || kept === 'dark' ? kept : 'auto'
  } catch {
    // Storage may be forbidden.
    return 'auto'
  }
}

export function applyTheme(theme = readTheme()): void {
  const { dataset } = document.documentElement
  if (theme === 'auto') delete dataset.theme
  else dataset.theme = theme
  try {
    localStorage.setItem(KEY, theme)
  } catch {
    // Then it lasts as long as the page.
  }
}

/** Theme that the page has now, followed when it changes anywhere. */
export function useTheme(): Theme {
  const [theme, setTheme] = useState(currentTheme)
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme(currentTheme()))
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    return () => observer.disconnect()
  }, [])
  return theme
}

function currentTheme(): Theme {
  return THEMES.find((theme) => theme === document.documentElement.dataset.theme) ?? 'auto'
}
