import { useEffect, useMemo, useState } from 'preact/hooks'
import { cleanText } from '../../../src/wire/clean-text.ts'
import { CopyButton } from './copy-button.tsx'
import { Icon } from './icon.tsx'

/** Open without being asked, down to here. */
const OPEN_DEPTH = 2
/** Of a long list, and of a long text. */
const SHOWN_ITEMS = 100
const SHOWN_CHARS = 600
/** Shorter values are seen at a glance, and not searched. */
const MIN_SEARCHED_CHARS = 400

/** A JSON value as a tree that can be searched. Everything is shown as text. */
export function JsonTree({ value, label }: { value: unknown; label: string }) {
  const [search, setSearch] = useState('')
  const wanted = search.trim().toLowerCase()
  const found = useMemo(() => (wanted === '' ? undefined : countMatches(value, wanted)), [value, wanted])
  const isSearched = useMemo(() => (writeJson(value)?.length ?? 0) > MIN_SEARCHED_CHARS, [value])
  return (
    <div class="json">
      <div class={`json-tools ${isSearched ? '' : 'bare'}`}>
        {isSearched && (
          <label class="search">
            <Icon name="search" />
            <input
              type="search"
              placeholder="Search"
              aria-label={`Search in ${label}`}
              value={search}
              onInput={({ currentTarget }) => setSearch(currentTarget.value)}
            />
          </label>
        )}
        {found !== undefined && <span class="muted">{found === 0 ? 'not found' : `${found} found`}</span>}
        <CopyButton isQuiet text={() => writeJson(value) ?? ''} label={`Copy ${label}`} />
      </div>
      <div class="json-body">
        <Node value={value} depth={0} wanted={wanted} />
      </div>
    </div>
  )
}

/** Returns undefined for values without a JSON text. */
function writeJson(value: unknown): string | undefined {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

interface NodeProps {
  readonly name?: string
  readonly value: unknown
  readonly depth: number
  /** In lower case; empty when nothing is searched. */
  readonly wanted: string
}

function Node({ name, value, depth, wanted }: NodeProps) {
  if (typeof value !== 'object' || value === null) {
    return (
      <div class="json-line">
        <Name name={name} wanted={wanted} />
        <Leaf value={value} wanted={wanted} />
      </div>
    )
  }
  return <Branch name={name} value={value} depth={depth} wanted={wanted} />
}

function Branch({ name, value, depth, wanted }: NodeProps & { value: object }) {
  const isFound = useMemo(() => wanted !== '' && countMatches(value, wanted) > 0, [value, wanted])
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH)
  const [shown, setShown] = useState(SHOWN_ITEMS)
  useEffect(() => {
    if (isFound) setOpen(true)
  }, [isFound])
  const entries = Object.entries(value)
  const isList = Array.isArray(value)
  const summary = isList ? `[${entries.length}]` : `{${entries.length}}`
  if (entries.length === 0) {
    return (
      <div class="json-line">
        <Name name={name} wanted={wanted} />
        <span class="json-mark">{isList ? '[]' : '{}'}</span>
      </div>
    )
  }
  return (
    <div>
      <button type="button" class="json-line json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="chevron" />
        <Name name={name} wanted={wanted} />
        <span class="json-mark">{isOpen ? summary : `${summary} ${preview(value)}`}</span>
      </button>
      {isOpen && (
        <div class="json-children">
          {entries.slice(0, shown).map(([key, child]) => (
            <Node key={key} name={key} value={child} depth={depth + 1} wanted={wanted} />
          ))}
          {entries.length > shown && (
            <button type="button" class="link" onClick={() => setShown(shown + 10 * SHOWN_ITEMS)}>
              {entries.length - shown} more
            </button>
          )}
        </div>
      )}
    </div>
  )
}

function Name({ name, wanted }: { name: string | undefined; wanted: string }) {
  if (name === undefined) return null
  return (
    <span class="json-name">
      <Marked text={name} wanted={wanted} />
      <span class="json-mark">:</span>
    </span>
  )
}

function Leaf({ value, wanted }: { value: unknown; wanted: string }) {
  const [isWhole, setWhole] = useState(false)
  if (typeof value !== 'string') return <span class={`json-${typeof value}`}>{String(value)}</span>
  const isCut = !isWhole && value.length > SHOWN_CHARS && wanted === ''
  return (
    <span class="json-string">
      <Marked text={isCut ? `${value.slice(0, SHOWN_CHARS)}…` : value} wanted={wanted} />
      {isCut && (
        <button type="button" class="link" onClick={() => setWhole(true)}>
          {value.length - SHOWN_CHARS} more characters
        </button>
      )}
    </span>
  )
}

/** A text with highlighted matches. */
function Marked({ text, wanted }: { text: string; wanted: string }) {
  if (wanted === '') return <>{cleanText(text)}</>
  const lower = text.toLowerCase()
  const parts = []
  let from = 0
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    parts.push(cleanText(text.slice(from, at)), <mark>{cleanText(text.slice(at, at + wanted.length))}</mark>)
    from = at + wanted.length
  }
  return (
    <>
      {parts}
      {cleanText(text.slice(from))}
    </>
  )
}

function countMatches(value: unknown, wanted: string): number {
  if (typeof value !== 'object' || value === null) return String(value).toLowerCase().includes(wanted) ? 1 : 0
  const isList = Array.isArray(value)
  return Object.entries(value).reduce((count, [name, child]) => {
    return count + (!isList && name.toLowerCase().includes(wanted) ? 1 : 0) + countMatches(child, wanted)
  }, 0)
}

function preview(value: object): string {
  const text = cleanText(JSON.stringify(value))
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
