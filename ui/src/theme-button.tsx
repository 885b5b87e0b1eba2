import { Icon, type IconName } from './components/icon.tsx'
import { applyTheme, type Theme, useTheme } from './theme.ts'

const NAMES: Readonly<Record<Theme, string>> = { auto: 'system', light: 'light', dark: 'dark' }
const NEXT_THEME: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' }

/** Button that goes through the themes: of the system, light, dark. */
export function ThemeButton() {
  const theme = useTheme()
  const icon: IconName = theme === 'auto' ? 'auto' : theme === 'light' ? 'sun' : 'moon'
  return (
    <button
      type="button"
      class="icon-button"
      onClick={() => applyTheme(NEXT_THEME[theme])}
      title={`Theme: ${NAMES[theme]}`}
      aria-label={`Theme: ${NAMES[theme]}. Change`}
    >
      <Icon name={icon} />
    </button>
  )
}
