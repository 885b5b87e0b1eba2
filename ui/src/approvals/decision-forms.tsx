import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Approval, ApprovalDecision } from '../../../src/wire/approval.ts'
import { cleanText, cleanToDecide, escapeUnits } from '../../../src/wire/clean-text.ts'
import { Notice } from '../components/notice.tsx'
import { readFields, type Schema, SchemaFields, type Texts } from '../components/schema-fields.tsx'

interface DecisionFormProps {
  readonly onDecide: (decision: ApprovalDecision) => void
}

interface ClosableFormProps extends DecisionFormProps {
  readonly onClose: () => void
}

/** Form of the arguments that the call is to have instead. */
export function EditForm({ approval, onDecide, onClose }: ClosableFormProps & { approval: Approval }) {
  const args = approval.arguments
  const schema = withTypesOf(args, approval.schema ?? {})
  const [texts, setTexts] = useState<Texts>(() => mapValues(args, writeText))
  const read = (): ApprovalDecision => ({ decision: 'edit', arguments: readEdited(args, schema, texts) })
  return (
    <Form label="Approve as edited" read={read} onDecide={onDecide} onClose={onClose}>
      <SchemaFields schema={schema} texts={texts} onTexts={setTexts} />
    </Form>
  )
}

/** Form for the reason that the model will read. */
export function RejectForm({ onDecide, onClose }: ClosableFormProps) {
  const [reason, setReason] = useState('')
  return (
    <Form label="Reject" read={() => ({ decision: 'reject', reason })} onDecide={onDecide} onClose={onClose}>
      <label class="tool-field">
        <span>Reason, for the model</span>
        <input value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
      </label>
    </Form>
  )
}

/** Form of the answer to a question, from its schema. */
export function AnswerForm({ approval, onDecide }: DecisionFormProps & { approval: Approval }) {
  const schema = (approval.schema ?? {}) as Schema
  const isObject = schema.properties !== undefined
  const whole = isObject ? schema : { properties: { answer: schema }, required: ['answer'] }
  const [texts, setTexts] = useState<Texts>({})
  const read = (): ApprovalDecision => {
    const values = readFields(whole, texts)
    return { decision: 'answer', answer: isObject ? values : (values.answer ?? '') }
  }
  const form = (
    <Form label="Answer" read={read} onDecide={onDecide}>
      <SchemaFields schema={whole} texts={texts} onTexts={setTexts} />
    </Form>
  )
  return approval.url === null ? form : <ElsewhereForm url={approval.url}>{form}</ElsewhereForm>
}

/** Link to the site that answers in the place of the person, who may still write the answer. */
function ElsewhereForm({ url, children }: { readonly url: string; readonly children: ComponentChildren }) {
  if (!URL.canParse(url) || !/^https?:/i.test(url)) {
    return (
      <>
        <p class="muted">{cleanText(url)}</p>
        {children}
      </>
    )
  }
  return (
    <>
      <div class="approval-actions">
        <a class="button primary" href={url} target="_blank" rel="noopener noreferrer">
          Open {new URL(url).host}
        </a>
      </div>
      <details>
        <summary class="muted">Answer by hand</summary>
        {children}
      </details>
    </>
  )
}

interface FormProps extends DecisionFormProps {
  readonly label: string
  /** @throws Error naming the field that cannot be read */
  readonly read: () => ApprovalDecision
  /** Of a form that was opened, and takes the focus. */
  readonly onClose?: () => void
  readonly children: ComponentChildren
}

function Form({ label, read, onDecide, onClose, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const [problem, setProblem] = useState('')
  // Before the next key is pressed.
  useLayoutEffect(() => {
    if (onClose) form.current?.querySelector<HTMLElement>('input, select')?.focus()
  }, [])
  const submit = (event: Event) => {
    event.preventDefault()
    setProblem('')
    try {
      onDecide(read())
    } catch (failure) {
      setProblem((failure as Error).message)
    }
  }
  return (
    <form ref={form} class="tool-form" onSubmit={submit}>
      {children}
      {problem && <Notice kind="bad" title={problem} />}
      <div class="approval-actions">
        <button type="submit" class="button primary">
          {label}
        </button>
        {onClose && (
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
        )}
      </div>
    </form>
  )
}

/** Schema in which every argument has a field, and a type to be read by. */
function withTypesOf(args: Approval['arguments'], schema: Schema): Schema {
  const typed = mapValues(args, (value) => ({ type: typeof value === 'string' ? 'string' : 'a value' }))
  const named = mapValues(schema.properties ?? {}, (each, name) => ({ ...typed[name], ...each }))
  return { ...schema, properties: { ...typed, ...named } }
}

/** Arguments with the changed fields; other fields stay as the model wrote them. */
function readEdited(args: Approval['arguments'], schema: Schema, texts: Texts): Record<string, unknown> {
  const isChanged = (name: string) => texts[name] !== undefined && texts[name] !== writeText(args[name])
  const changed = Object.fromEntries(Object.entries(texts).filter(([name]) => isChanged(name)))
  const kept = Object.fromEntries(Object.entries(args).filter(([name]) => !isChanged(name)))
  return { ...kept, ...mapValues(readFields(schema, changed), (value, name) => withHidden(value, args[name])) }
}

/** Returns an edited text with the model's invisible characters in place of the escapes that the field showed for them. */
function withHidden(value: unknown, before: unknown): unknown {
  if (typeof value !== 'string' || typeof before !== 'string') return value
  const shown = writeText(before)
  const hidden = [...new Set(before)].filter(
    (each) => shown.includes(escapeUnits(each)) && !before.includes(escapeUnits(each)),
  )
  return hidden.reduce((text, each) => text.replaceAll(escapeUnits(each), each), value)
}

function writeText(value: unknown): string {
  return cleanToDecide(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}

function mapValues<T, Result>(
  values: Readonly<Record<string, T>>,
  map: (value: T, name: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value, name)]))
}
