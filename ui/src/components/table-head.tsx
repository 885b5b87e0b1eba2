interface TableHeadProps {
  readonly names: readonly string[]
  /** Those of columns with figures. */
  readonly figures?: readonly string[]
}

/** Names of the columns of a table. */
export function TableHead({ names, figures = [] }: TableHeadProps) {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th key={name} scope="col" class={figures.includes(name) ? 'number' : undefined}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
}
