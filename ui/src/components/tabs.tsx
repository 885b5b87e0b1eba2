interface TabsProps<Name extends string> {
  readonly label: string
  /** By name, in the order in which they stand. */
  readonly titles: Readonly<Partial<Record<Name, string>>>
  readonly selected: Name
  readonly onSelect: (name: Name) => void
}

/** Tabs by the pattern of WAI-ARIA: arrows move between them. */
export function Tabs<Name extends string>({ label, titles, selected, onSelect }: TabsProps<Name>) {
  const names = Object.keys(titles) as Name[]
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const index = names.indexOf(selected)
    const next = names[(index + step + names.length) % names.length]
    if (next === undefined) return
    onSelect(next)
    const list = event.currentTarget as HTMLElement
    list.querySelector<HTMLElement>(`[data-name="${next}"]`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          data-name={name}
          aria-selected={name === selected}
          tabIndex={name === selected ? 0 : -1}
          onClick={() => onSelect(name)}
        >
          {titles[name]}
        </button>
      ))}
    </div>
  )
}
