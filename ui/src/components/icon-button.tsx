import { Icon, type IconName } from './icon.tsx'

interface IconButtonProps {
  readonly icon: IconName
  /** Name of its action, and its tooltip. */
  readonly label: string
  /** Key that does the same. */
  readonly shortcut?: string
  readonly isPressed?: boolean
  readonly isDisabled?: boolean
  readonly onClick: () => void
}

/** An icon button with a name, and a tooltip with its key. */
export function IconButton({ icon, label, shortcut, isPressed, isDisabled = false, onClick }: IconButtonProps) {
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={label}
      aria-pressed={isPressed}
      disabled={isDisabled}
      title={shortcut ? `${label} (${shortcut})` : label}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  )
}
