export interface Schema {
  readonly type?: unknown
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

/** Texts as they were typed, by field. */
export type Texts = Readonly<Record<string, string>>

interface SchemaFieldsProps {
  readonly schema: Schema
  readonly texts: Texts
  readonly onTexts: (texts: Texts) => void
}

/** Fields of a form, from the schema of an object. */
export function SchemaFields({ schema: { properties = {}, required = [] }, texts, onTexts }: SchemaFieldsProps) {
  return (
    <>
      {Object.entries(properties).map(([field, schema]) => (
        // biome-ignore lint/a11y/noLabelWithoutControl: its control is the Field within
        <label key={field} class="tool-field">
          <span>
            {field}
            {required.includes(field) && ' *'}
          </span>
          <Field schema={schema} text={texts[field] ?? ''} onText={(text) => onTexts({ ...texts, [field]: text })} />
          {schema.description && <small class="muted">{schema.description}</small>}
        </label>
      ))}
    </>
  )
}

interface FieldProps {
  readonly schema: Schema
  readonly text: string
  readonly onText: (text: string) => void
}

function Field({ schema, text, onText }: FieldProps) {
  const options = schema.enum ?? (schema.type === 'boolean' ? [true, false] : undefined)
  if (!options) return <input value={text} onInput={({ currentTarget }) => onText(currentTarget.value)} />
  return (
    <select value={text} onChange={({ currentTarget }) => onText(currentTarget.value)}>
      <option value="">–</option>
      {options.map((option) => (
        <option key={String(option)}>{String(option)}</option>
      ))}
    </select>
  )
}

/**
 * Values of the fields that were filled in.
 *
 * @throws Error naming the field that is no JSON
 */
export function readFields({ properties = {} }: Schema, texts: Texts): Record<string, unknown> {
  const given = Object.entries(texts).filter(([, text]) => text !== '')
  return Object.fromEntries(given.map(([field, text]) => [field, readValue(field, properties[field] ?? {}, text)]))
}

function readValue(field: string, { type, enum: options }: Schema, text: string): unknown {
  if (options) return options.find((option) => String(option) === text)
  if (type === 'string' || type === undefined) return text
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${field} must be ${String(type)}, written as JSON.`)
  }
}
