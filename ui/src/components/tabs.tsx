interface TabsProps<Name extends string> {
  readonly label: string
  readonly tabs: readonly { readonly name: Name; readonly title: string }[]
  readonly selected: Name
  readonly onSelect: (name: Name) => void
}

/** Tabs by the pattern of WAI-ARIA: arrows move between them. */
export function Tabs<Name extends string>({ label, tabs, selected, onSelect }: TabsProps<Name>) {
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const index = tabs.findIndex(({ name }) => name === selected)
    const next = tabs[(index + step + tabs.length) % tabs.length]
    if (!next) return
    onSelect(next.name)
    const list = event.currentTarget as HTMLElement
    list.querySelector<HTMLElement>(`[data-name="${next.name}"]`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(({ name, title }) => (
        <button
          key={name}
          type="button"
          role="tab"
          data-name={name}
          aria-selected={name === selected}
          tabIndex={name === selected ? 0 : -1}
          onClick={() => onSelect(name)}
        >
          {title}
        </button>
      ))}
    </div>
  )
}
