import { fieldsOf, parseJson } from 'agent-host'
import { UnusableAnswer } from './ai-sdk-retry.ts'

/** Maximum number of calls in an answer, and of pieces of calls in an event: each is compared with the others. */
const MAX_CALLS = 1000
/** Maximum number of characters of arguments to parse for one event, to see whether they are complete: a vendor can end them a hundred thousand times. */
const MAX_PARSED = 32 * 1024 * 1024

/** Call of a streamed answer, as far as it has come. */
interface Call {
  /** Index that the SDK tells it by. */
  readonly index: number
  /** Index that the vendor began it with. */
  readonly theirs: number | undefined
  /** Number of the chunk that began it. */
  readonly chunk: number
  id: string
  name: string
  /** Arguments so far. */
  said: string
  isSent: boolean
  /** Other fields of its pieces. */
  readonly fields: Record<string, unknown>
  /** Shared by the calls of an answer. */
  readonly budget: ParseBudget
}

interface ParseBudget {
  left: number
}

/** Piece of a call; what the vendor leaves out is empty. */
interface Fragment {
  readonly index: number | undefined
  readonly id: string
  readonly name: string
  readonly said: string
  readonly fields: Readonly<Record<string, unknown>>
}

/**
 * The calls of one answer of chat completions. Vendors give several calls one index, change it on the way or have none, and the SDK tells
 * calls apart by it. Here a new id or name begins a call, and a fragment without continues the last one, unless its index names
 * another that is not whole yet.
 */
export class ChatCalls {
  readonly #calls: Call[] = []
  /** Those whose fields are not taken. */
  readonly #unread: Call[] = []
  readonly #budget: ParseBudget = { left: 0 }
  #chunk = 0

  /** Fragments of one chunk in the form that the SDK reads. @throws UnusableAnswer if there are too many */
  read(fragments: unknown): object[] {
    const all = [fragments].flat()
    if (all.length > MAX_CALLS) throw tooMany()
    this.#chunk++
    this.#budget.left = MAX_PARSED
    return all.flatMap((raw) => this.#take(fieldsOf(raw)))
  }

  /** The fields that the pieces of a call have beside its name and arguments; undefined where there are none. */
  takeFields({ id, name }: Pick<Call, 'id' | 'name'>): Call['fields'] | undefined {
    const same = this.#unread.filter((call) => call.name === name)
    // The SDK makes up an id for a call without one, and for one whose id is another's.
    const call = same.find((each) => each.id === id) ?? same[0]
    if (call) this.#unread.splice(this.#unread.indexOf(call), 1)
    return call && Object.keys(call.fields).length > 0 ? { ...call.fields } : undefined
  }

  #take(raw: Readonly<Record<string, unknown>>): object[] {
    const fragment = readFragment(raw)
    const call = this.#continued(fragment) ?? this.#begin(fragment)
    Object.assign(call.fields, fragment.fields)
    if (fragment.id === call.id && fragment.said === call.said && call.isSent && isWhole(call)) return []
    call.id ||= fragment.id
    call.name ||= fragment.name
    // Some begin with an empty object in the place of nothing.
    call.said = isPlaceholder(call.said) && fragment.said !== '' ? fragment.said : call.said + fragment.said
    if (call.name === '') return []
    const { isSent, index, id, name } = call
    call.isSent = true
    const said = isSent ? fragment.said : call.said
    const sent = isPlaceholder(call.said) ? '' : said
    if (isSent) return sent === '' ? [] : [{ index, function: { arguments: sent } }]
    return [{ index, id: id || undefined, type: 'function', function: { name, arguments: sent } }]
  }

  #begin({ index }: Fragment): Call {
    if (this.#calls.length === MAX_CALLS) throw tooMany()
    const call = {
      index: this.#calls.length,
      theirs: index,
      chunk: this.#chunk,
      id: '',
      name: '',
      said: '',
      isSent: false,
      fields: {},
      budget: this.#budget,
    }
    this.#calls.push(call)
    this.#unread.push(call)
    return call
  }

  /** The call that a fragment continues; undefined where it begins one. */
  #continued(fragment: Fragment): Call | undefined {
    const { id, name, index } = fragment
    const last = this.#calls.at(-1)
    if (!last) return undefined
    const known = id === '' ? undefined : this.#calls.findLast((call) => call.id === id)
    if (known) return repeats(known, fragment) ? known : undefined
    if (id === '' && name === '') {
      const named = this.#calls.findLast(({ theirs }) => index !== undefined && theirs === index)
      return named && named !== last && !isWhole(named) ? named : last
    }
    return sameIndex(last, index) && completes(last, fragment, this.#chunk) ? last : undefined
  }
}

/** Returns true for a fragment that tells the id of a call again; one vendor may also give all calls one id. */
function repeats(call: Call, { name, said, index }: Fragment): boolean {
  if (name === '') return true
  if (isWhole(call) && !isPlaceholder(call.said)) return said === '' || said === call.said
  return call.said !== '' || sameIndex(call, index)
}

/** Returns true for a fragment that brings an id or name which the last call lacks, or has in every fragment anew. */
function completes(last: Call, { id, name, said }: Fragment, chunk: number): boolean {
  if (last.name === '') return last.id === '' || id === ''
  if (isWhole(last)) return false
  if (id === '') return name === last.name && last.chunk !== chunk
  return name === '' && (said !== '' || last.id === '')
}

function sameIndex({ theirs }: Call, index: number | undefined): boolean {
  return index === undefined || theirs === undefined || theirs === index
}

function isWhole({ said, budget }: Call): boolean {
  budget.left -= said.length
  if (budget.left < 0) return false
  // Long arguments come in thousands of pieces: to parse all that has come with each of them takes too long.
  if (said.length > 100 && !'}]"'.includes(said.trimEnd().slice(-1))) return false
  return parseJson(said) !== undefined
}

function tooMany(): Error {
  return new UnusableAnswer(`the model made more than ${MAX_CALLS} calls in one answer`)
}

function isPlaceholder(said: string): boolean {
  return said.length < 100 && said.trim() === '{}'
}

function readFragment({ index, id, type: _, function: called, ...rest }: Readonly<Record<string, unknown>>): Fragment {
  const { name, arguments: said } = fieldsOf(called)
  return {
    index: typeof index === 'number' ? index : undefined,
    id: textOf(id),
    name: textOf(name),
    // Some send the object itself.
    said: typeof said === 'string' ? said : (JSON.stringify(said ?? undefined) ?? ''),
    fields: Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)),
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}
