import { getOrAdd } from '../../get-or-add.ts'
import { fieldsOf } from '../../json.ts'
import { hideInPieces, joinPieces, type Piece, textOf } from '../../redaction/hide-in-pieces.ts'
import { hideSecrets, type Redact } from '../../redaction/redact.ts'

/** Lines of JSON without secrets. Searching them together costs a fraction of one search for each; few have any. */
export function hideSecretsInLines(text: string, hide: Redact): string {
  if (hide(text) === text) return text
  return text.replace(/[^\n]+/g, (line) => hideSecrets(line, hide))
}

/** Whole lines of calls without secrets, those that models sent in pieces included. */
export function hideSecretsInCalls(lines: readonly string[], hide: Redact): string[] {
  const whole = hideSecretsInPieces(lines.join('\n'), hide)
  return whole.split('\n').map((line) => hideSecrets(line, hide))
}

/** A piece of a text that a call streams. */
interface StreamedPiece extends Piece {
  /** Call and field: pieces of one text have the same. */
  readonly key: string
  readonly text: string
  /** Offset of its line. */
  readonly start: number
}

const PART = '{"type":"part","call":'
/** The piece of a model: most are. */
const PIECE_OF_MODEL =
  /\{"type":"part","call":(\d+),(?:"ms":[\d.]+,)?"value":\{"type":"(text|reasoning)","text":"((?:[^"\\]|\\.)*)"\}\}$/my

/** Lines whose calls streamed no secret in several pieces: where one did, the first piece has the whole text, without it. */
export function hideSecretsInPieces(text: string, hide: Redact): string {
  const changed = new Map<number, { key: string; text: string }[]>()
  for (const [{ key, start }, hidden] of hideInPieces(piecesIn(text), hide)) {
    getOrAdd(changed, start, () => []).push({ key, text: hidden })
  }
  if (changed.size === 0) return text
  return replaceLines(text, changed)
}

/** Maximum length of a secret that lies on both sides of a cut. Characters. */
const MAX_SECRET = 4096

/**
 * Offset at which lines of a run that goes on can be cut: no secret that a call streams in pieces begins before it and ends behind it.
 *
 * @returns 0 where they cannot
 */
export function findCut(text: string, hide: Redact): number {
  const streams = joinPieces(piecesIn(text))
  let cut = Math.min(text.length, ...streams.filter((stream) => isOpen(stream, text)).map(lastSecretMayBegin))
  for (let unclean = findUnclean(streams, cut, hide); unclean !== undefined; unclean = findUnclean(streams, cut, hide))
    cut = unclean
  return cut
}

/** A call that has no result yet may say more. */
function isOpen([first]: readonly StreamedPiece[], text: string): boolean {
  const [call] = first?.key.split(' ') ?? []
  return !text.includes(`{"type":"result","call":${call},`)
}

/** Beginning of the piece from which on a secret may go on in a piece to come. */
function lastSecretMayBegin(stream: readonly StreamedPiece[]): number {
  let chars = 0
  for (const { text, start } of [...stream].reverse()) {
    chars += text.length
    if (chars >= MAX_SECRET) return start
  }
  return stream[0]?.start ?? 0
}

/** An earlier cut, where a secret of a stream lies on both sides of this one. */
function findUnclean(streams: readonly (readonly StreamedPiece[])[], cut: number, hide: Redact): number | undefined {
  for (const stream of streams) {
    const before = stream.filter(({ start }) => start < cut)
    const after = stream.slice(before.length)
    const end = textOf(before).slice(-MAX_SECRET)
    const beginning = textOf(after).slice(0, MAX_SECRET)
    if (hide(end + beginning) !== hide(end) + hide(beginning)) return before.at(-1)?.start
  }
  return undefined
}

function* piecesIn(text: string): Iterable<StreamedPiece> {
  for (let start = text.startsWith(PART) ? 0 : nextPart(text, 0); start !== -1; start = nextPart(text, start)) {
    PIECE_OF_MODEL.lastIndex = start
    const [, call, kind, json] = PIECE_OF_MODEL.exec(text) ?? []
    if (json === undefined) yield* piecesOf(lineAt(text, start), start)
    else yield { key: `${call} ${kind} text`, text: json.includes('\\') ? JSON.parse(`"${json}"`) : json, start }
  }
}

function nextPart(text: string, start: number): number {
  const next = text.indexOf(`\n${PART}`, start)
  return next === -1 ? -1 : next + 1
}

function lineAt(text: string, start: number): string {
  const end = text.indexOf('\n', start)
  return text.slice(start, end === -1 ? undefined : end)
}

/** Every text of a part counts as a piece of another one: modules stream what they like. */
function* piecesOf(line: string, start: number): Iterable<StreamedPiece> {
  const { call, value } = fieldsOf(JSON.parse(line))
  if (typeof value === 'string') yield { key: `${call}`, text: value, start }
  const fields = fieldsOf(value)
  for (const [name, text] of Object.entries(fields))
    if (typeof text === 'string' && name !== 'type') yield { key: `${call} ${fields.type} ${name}`, text, start }
}

/** Puts other texts in the place of pieces, by the beginnings of their lines. */
function replaceLines(text: string, changed: ReadonlyMap<number, readonly { key: string; text: string }[]>): string {
  let replaced = ''
  let end = 0
  for (const [start, changes] of [...changed].sort(([one], [other]) => one - other)) {
    const line = lineAt(text, start)
    replaced += text.slice(end, start) + changes.reduce(replacePiece, line)
    end = start + line.length
  }
  return replaced + text.slice(end)
}

function replacePiece(line: string, { key, text }: { key: string; text: string }): string {
  const part = JSON.parse(line)
  const name = key.split(' ').at(-1) ?? ''
  return JSON.stringify({ ...part, value: typeof part.value === 'string' ? text : { ...part.value, [name]: text } })
}
