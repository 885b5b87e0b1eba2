interface ChoiceProps {
  readonly name: string
  readonly value: string | undefined
  readonly options: readonly string[]
  /** Names of options for people; the others are shown as they are. */
  readonly texts?: Readonly<Record<string, string>>
  readonly onChange: (value: string) => void
}

/** A select of a filter; its first option takes any value. */
export function Choice({ name, value = '', options, texts = {}, onChange }: ChoiceProps) {
  const all = value && !options.includes(value) ? [value, ...options] : options
  return (
    <label class="field">
      <span class="hidden">{name}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">{`Any ${name.toLowerCase()}`}</option>
        {all.map((option) => (
          <option key={option} value={option}>
            {texts[option] ?? option}
          </option>
        ))}
      </select>
    </label>
  )
}
