import { useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { JsonTree } from '../components/json-tree.tsx'
import { Notice } from '../components/notice.tsx'
import { href } from '../router.ts'

const CALL = `mutation($agent: String!, $module: String!, $name: String!, $args: JSON!) {
  call_tool(agent_id: $agent, module_id: $module, name: $name, arguments: $args) { run_id result error }
}`

interface Outcome {
  readonly run_id: string
  readonly result: unknown
  readonly error: string | null
}

interface Schema {
  readonly type?: unknown
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

interface ToolFormProps {
  readonly agentId: string
  readonly moduleId: string
  readonly name: string
  readonly parameters: unknown
}

/** Form of a tool's arguments, from its schema: it calls that tool alone, as a run of its own. */
export function ToolForm({ agentId, moduleId, name, parameters }: ToolFormProps) {
  const { properties = {}, required = [] } = (parameters ?? {}) as Schema
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const [outcome, setOutcome] = useState<Outcome>()
  const [error, setError] = useState('')
  const call = async () => {
    setError('')
    try {
      const args = readArguments(properties, texts)
      const variables = { agent: agentId, module: moduleId, name, args }
      setOutcome((await ask<{ call_tool: Outcome }>(CALL, variables)).call_tool)
    } catch (failure) {
      setError((failure as Error).message)
    }
  }
  return (
    <div class="tool-form">
      {Object.entries(properties).map(([field, schema]) => (
        // biome-ignore lint/a11y/noLabelWithoutControl: its control is the Field within
        <label key={field} class="tool-field">
          <span>
            {field}
            {required.includes(field) && ' *'}
          </span>
          <Field schema={schema} text={texts[field] ?? ''} onText={(text) => setTexts({ ...texts, [field]: text })} />
          {schema.description && <small class="muted">{schema.description}</small>}
        </label>
      ))}
      <button type="button" class="button" onClick={call}>
        Call {name}
      </button>
      {error && <Notice kind="bad" title={error} />}
      {outcome && (
        <>
          {outcome.error === null ? (
            <JsonTree value={outcome.result} label="result" />
          ) : (
            <Notice kind="bad" title={outcome.error} />
          )}
          <a href={href(['runs', outcome.run_id])}>See the run</a>
        </>
      )}
    </div>
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

/** @throws Error naming the field that is no JSON */
function readArguments(
  properties: Readonly<Record<string, Schema>>,
  texts: Readonly<Record<string, string>>,
): Record<string, unknown> {
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
