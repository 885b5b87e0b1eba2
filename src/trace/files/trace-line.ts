import { fieldsOf } from '../../json.ts'
import { hidePieces } from '../../redaction/hide-pieces.ts'
import { hideSecrets, type Redact } from '../../redaction/redact.ts'
import { StreamedSecrets } from '../../redaction/streamed-secrets.ts'
import { isBeginning } from '../run-index/run-summary.ts'
import { writePayload } from './payload.ts'
import type { TracedEvent } from './traced-event.ts'

/** Fields with which a line begins, in their order. */
const SAME_EACH_TIME: (keyof TracedEvent)[] = [
  'agent_id',
  'event_name',
  'event_type',
  'module_id',
  'module_class',
  'method_name',
  'protocol',
  'entry_point',
]

/** Beginnings of lines that are remembered: one for each method of each module, and how it goes. */
const MAX_BEGINNINGS = 10_000

interface Beginning {
  readonly agentId: string
  readonly moduleId: string
  readonly entryPoint: string | null
  readonly text: string
}

/**
 * Writes events as lines of a trace file, without the newline: JSON with the fields of {@link TracedEvent}. What happened stands
 * before what was said. Every event of every run comes through here: what is the same each time is written once.
 */
export class TraceLineWriter {
  readonly #redact: Redact
  readonly #server: string
  readonly #streamed: StreamedSecrets
  /** By event name. */
  readonly #beginnings = new Map<string, Beginning>()

  /**
   * @param secrets values that are hidden also where a run says them in pieces
   * @param server written into the line that begins a run
   */
  constructor(redact: Redact, secrets: readonly string[], server?: string) {
    this.#redact = redact
    this.#streamed = new StreamedSecrets(secrets)
    this.#server = server === undefined ? '' : `"server":${JSON.stringify(server)},`
  }

  write(event: TracedEvent): string {
    const { time, call_id, caller_id, run_id, parent_call_id, duration_ms, exception } = event
    const facts = `"time":${time},"call_id":${quote(call_id)},"caller_id":${quote(caller_id)},"run_id":${quote(run_id)}`
    const within = `"parent_call_id":${quote(parent_call_id)},"duration_ms":${duration_ms}`
    const thrown = exception === null ? 'null' : writePayload(exception, this.#redact)
    const said = `"arguments":${this.#arguments(event)},"result":${this.#result(event)},"exception":${thrown}}`
    const owner = event.tenant ? `"tenant":${quote(event.tenant)},` : ''
    const origin = isBeginning(event) ? `${this.#server}${this.#longFacts(event)}${writeOrigin(event)}` : ''
    const line = `${this.#beginningOf(event)}${owner}${origin}${facts},${within},${said}`
    return hideSecrets(line, this.#redact)
  }

  #beginningOf(event: TracedEvent): string {
    const { agent_id, event_name, module_id, entry_point } = event
    const known = this.#beginnings.get(event_name)
    if (known?.agentId === agent_id && known.moduleId === module_id && known.entryPoint === entry_point)
      return known.text
    const text = `${JSON.stringify(event, SAME_EACH_TIME).slice(0, -1)},`
    if (this.#beginnings.size >= MAX_BEGINNINGS) this.#beginnings.clear()
    this.#beginnings.set(event_name, { agentId: agent_id, moduleId: module_id, entryPoint: entry_point, text })
    return text
  }

  #arguments(event: TracedEvent): string {
    const { arguments: given } = event
    return given === null ? 'null' : `{"args":${this.#payload(this.#said(event, given.args))}}`
  }

  /** The arguments of a call that says a piece of the answer, without a secret that is said in several. */
  #said({ protocol, method_name, run_id }: TracedEvent, args: readonly unknown[]): readonly unknown[] {
    const [text, ...others] = args
    if (protocol !== 'Response' || run_id === null || typeof text !== 'string') return args
    return [this.#streamed.next(run_id, method_name, text), ...others]
  }

  #result({ result, run_id, event_type }: TracedEvent): string {
    if (event_type === 'end' && run_id !== null) this.#streamed.forget(run_id)
    return this.#payload(Array.isArray(result) ? hidePieces(result, this.#redact) : result)
  }

  /** Facts of a run that its first event says, and that clients make as long as they like. */
  #longFacts({ user, variant }: TracedEvent): string {
    const name = user ? `"user":${this.#payload(user)},` : ''
    return variant ? `${name}"variant":${this.#payload(variant)},` : name
  }

  #payload(value: unknown): string {
    return value === null ? 'null' : writePayload(value, this.#redact)
  }
}

/** The others, as far as there are any. */
function writeOrigin(event: TracedEvent): string {
  const { conversation, agent_version, continues, replays, parent_run_id, parent_run_call_id, eval_case } = event
  const facts = { conversation, agent_version, continues, replays, parent_run_id, parent_run_call_id, eval_case }
  const text = JSON.stringify(facts, (_name, value) => value || undefined)
  return text === '{}' ? '' : `${text.slice(1, -1)},`
}

const UNSAFE = /["\\\p{Cc}\p{Cs}]/u

/** A text as JSON: most ids can be written as they are. */
function quote(text: string | null): string {
  if (text === null) return 'null'
  return UNSAFE.test(text) ? JSON.stringify(text) : `"${text}"`
}

/** The event of a line; undefined for a truncated or foreign line. */
export function readTraceLine(line: string): TracedEvent | undefined {
  try {
    const event: unknown = JSON.parse(line)
    return isEvent(event) ? event : undefined
  } catch {
    return undefined
  }
}

/** Tells a line of this host from another: what else an event has is as it was written. */
function isEvent(value: unknown): value is TracedEvent {
  const { agent_id, call_id, time } = fieldsOf(value)
  return typeof agent_id === 'string' && typeof call_id === 'string' && Number.isFinite(time)
}
