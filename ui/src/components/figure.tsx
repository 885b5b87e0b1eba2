interface FigureProps {
  readonly name: string
  readonly value: string
  readonly isBad?: boolean
}

/** A number with its name, within a `dl`. */
export function Figure({ name, value, isBad = false }: FigureProps) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd class={isBad ? 'bad-text' : ''}>{value}</dd>
    </div>
  )
}
