/** `auto` follows the system. */
export type Theme = 'auto' | 'light' | 'dark'

const KEY = 'agent-host.theme'

export function readTheme(): Theme {
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
