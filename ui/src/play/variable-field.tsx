import { useId, useLayoutEffect } from 'preact/hooks'
import { formatPath } from '../../../src/wire/format-path.ts'
import type { VariantProblem } from '../../../src/wire/variant.ts'
import { IconButton } from '../components/icon-button.tsx'
import type { AgentVariable } from './changes.ts'

interface VariableFieldProps {
  readonly variable: AgentVariable
  /** As it is now; undefined where it is left out. */
  readonly value: unknown
  readonly isChanged: boolean
  readonly problem: VariantProblem | undefined
  readonly hasFocus: boolean
  readonly onValue: (value: unknown) => void
  readonly onSubmit: () => void
}

/** One value of an agent: a changed one is marked, and can be reset. */
export function VariableField(props: VariableFieldProps) {
  const { variable, isChanged, problem, onValue } = props
  const { agent, module, path, schema, value: original } = variable
  const owner = agent === undefined ? module : `${agent}.${module}`
  const id = useId()
  const name = formatPath(path)
  return (
    <div class="variable" data-changed={isChanged}>
      <div class="variable-head">
        <label for={id}>{name.replaceAll('_', ' ')}</label>
        <code class="muted">{owner}</code>
        {isChanged && (
          <>
            <span class="edited">edited</span>
            <IconButton
              icon="loop"
              label={`Reset ${name} of ${owner}`}
              onClick={() => onValue(original ?? undefined)}
            />
          </>
        )}
      </div>
      <Control {...props} id={id} />
      {problem ? (
        <div id={`${id}-hint`} class="bad-text" role="alert">
          {problem.message}
          {problem.suggestions.map((suggestion) => (
            <div key={suggestion}>{suggestion}</div>
          ))}
        </div>
      ) : (
        <small id={`${id}-hint`} class="muted">
          {schema.description}
        </small>
      )}
    </div>
  )
}

/** Longer texts, and those that hold prompts, get lines. */
const LINE_CHARS = 60

function Control({ id, variable, value, problem, hasFocus, onValue, onSubmit }: VariableFieldProps & { id: string }) {
  const { schema, path } = variable
  useLayoutEffect(() => {
    if (hasFocus) document.getElementById(id)?.focus()
  }, [])
  const text = value == null ? '' : String(value)
  const shared = { id, value: text, 'aria-describedby': `${id}-hint`, 'aria-invalid': problem !== undefined }
  const options = schema.enum ?? (schema.type === 'boolean' ? [true, false] : undefined)
  if (options) {
    const choose = (chosen: string) => onValue(options.find((option) => String(option) === chosen))
    return (
      <select {...shared} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {value == null && <option value="">default</option>}
        {options.map((option) => (
          <option key={String(option)}>{String(option)}</option>
        ))}
      </select>
    )
  }
  if (schema.type === 'string') {
    const isLong = /prompt/.test(String(path.at(-1))) || text.length > LINE_CHARS || text.includes('\n')
    const submit = (event: KeyboardEvent) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      onSubmit()
    }
    const change = (next: string) => onValue(next === '' && value === undefined ? undefined : next)
    if (!isLong) {
      return <input {...shared} onInput={({ currentTarget }) => change(currentTarget.value)} />
    }
    return (
      <textarea
        {...shared}
        rows={path.at(-1) === 'system_prompt' ? 9 : 4}
        onKeyDown={submit}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
    )
  }
  const toNumber = (next: string) => onValue(next === '' ? undefined : Number.isNaN(Number(next)) ? next : Number(next))
  // No number field: a variable of the environment may stand in its place.
  return (
    <input
      {...shared}
      inputMode="decimal"
      placeholder="default"
      onInput={({ currentTarget }) => toNumber(currentTarget.value)}
    />
  )
}
