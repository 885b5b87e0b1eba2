import { readdirSync, readFileSync } from 'node:fs'
import Database from 'libsql'
import { installation } from '../../module/installation.ts'
import { requireKnown } from './add-tool.ts'

/** Longer pages are read by section. */
const MAX_CHARS = 40_000
const MAX_HITS = 8

/** Heading of a page, with the lines below it up to the next one. */
interface Section {
  /** `keys.md`, or `keys.md#tenants`. */
  readonly place: string
  readonly heading: string
  readonly text: string
}

/** The pages of the documentation, searched by word and read by page or section. */
export class DocsIndex {
  readonly #pages: ReadonlyMap<string, readonly Section[]>
  readonly #db = new Database(':memory:')

  constructor() {
    const files = readdirSync(installation.docs, { recursive: true }).map((file) => String(file).replaceAll('\\', '/'))
    const pages = files.filter((file) => /^((clients|decisions)\/)?[^/.]+\.md$/.test(file)).sort()
    this.#pages = new Map(pages.map((page) => [page, cutPage(page)]))
    this.#db.exec("CREATE VIRTUAL TABLE sections USING fts5(place UNINDEXED, heading, text, tokenize = 'porter')")
    const insert = this.#db.prepare('INSERT INTO sections VALUES (?, ?, ?)')
    for (const { place, heading, text } of [...this.#pages.values()].flat()) insert.run([place, heading, text])
  }

  /** The sections that fit best, each with the place to read it by and an excerpt. */
  search(words: string): string {
    const query = words.match(/[\p{L}\p{N}_]+/gu)?.map((word) => `"${word}"`)
    const sql = `SELECT place, heading, snippet(sections, 2, '', '', '…', 40) AS text FROM sections
      WHERE sections MATCH ? ORDER BY bm25(sections, 0, 4, 1) LIMIT ${MAX_HITS}`
    const found = query ? (this.#db.prepare(sql).all([query.join(' OR ')]) as Section[]) : []
    return found.map((section) => `${toLine(section)}\n${section.text}`).join('\n\n') || 'No page has these words.'
  }

  /** Pages, with their headings. */
  list(): string {
    return [...this.#pages.values()].flatMap((sections) => sections.slice(0, 1).map(toLine)).join('\n')
  }

  /**
   * Text of a page, or of one section with those below it; of a page that is too long its beginning, and the list of its sections.
   *
   * @param place as links write it, also those of other pages: `../keys.md#tenants`
   * @throws HostError `OPTION_INVALID` for a page or section that does not exist
   */
  read(place: string): string {
    const [page = '', anchor] = place.replace(/^(\.*\/|docs\/)*/, '').split('#')
    const sections = requireKnown(this.#pages, page, 'page')
    if (anchor !== undefined) return readSection(sections, `${page}#${anchor}`)
    const text = sections.map((section) => section.text).join('')
    if (text.length <= MAX_CHARS) return text
    return [sections[0]?.text, 'The page is long. Read its sections:', ...sections.slice(1).map(toLine)].join('\n')
  }
}

function toLine({ place, heading }: Section): string {
  return `${place}  ${heading}`
}

/** Text of a section and of those below it. */
function readSection(sections: readonly Section[], place: string): string {
  const starts = new Map(sections.map((section, index) => [section.place, index]))
  const [first = '', ...rest] = sections.slice(requireKnown(starts, place, 'section')).map(({ text }) => text)
  const end = rest.findIndex((text) => levelOf(text) <= levelOf(first))
  return [first, ...rest.slice(0, end < 0 ? undefined : end)].join('')
}

function levelOf(text: string): number {
  return text.search(/[^#]/)
}

/** Cuts a page at its headings below the title: comments in code blocks begin with one `#`. */
function cutPage(page: string): Section[] {
  const texts = readFileSync(new URL(page, installation.docs), 'utf8').split(/^(?=##+ )/m)
  return texts.map((text, index) => {
    const heading = /^#+ (.*)/.exec(text)?.[1] ?? page
    const anchor = heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '')
    return { place: index === 0 ? page : `${page}#${anchor.replaceAll(' ', '-')}`, heading, text }
  })
}
