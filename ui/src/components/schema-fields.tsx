import { useId } from 'preact/hooks'
import { cleanText } from '../../../src/wire/clean-text.ts'

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
  const form = useId()
  return (
    <>
      {Object.entries(properties).map(([field, schema]) => {
        const id = `${form}-${field}`
        return (
          <div key={field} class="tool-field">
            <label for={id}>
              {cleanText(field)}
              {required.includes(field) && ' *'}
            </label>
            <Field
              id={id}
              schema={schema}
              text={texts[field] ?? ''}
              onText={(text) => onTexts({ ...texts, [field]: text })}
            />
            {schema.description && (
              <small id={`${id}-hint`} class="muted">
                {cleanText(schema.description)}
              </small>
            )}
          </div>
        )
      })}
    </>
  )
}

interface FieldProps {
  readonly id: string
  readonly schema: Schema
  readonly text: string
  readonly onText: (text: string) => void
}

function Field({ id, schema, text, onText }: FieldProps) {
  const options = schema.enum ?? (schema.type === 'boolean' ? [true, false] : undefined)
  const shared = { id, value: text, 'aria-describedby': schema.description ? `${id}-hint` : undefined }
  if (!options) return <input {...shared} onInput={({ currentTarget }) => onText(currentTarget.value)} />
  return (
    <select {...shared} onChange={({ currentTarget }) => onText(currentTarget.value)}>
      <option value="">–</option>
      {options.map((option) => (
        <option key={String(option)} value={String(option)}>
          {cleanText(String(option))}
        </option>
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
