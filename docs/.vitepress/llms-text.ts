import { readFileSync } from 'node:fs'
import { sidebar } from './sidebar.ts'

const FOLDER = new URL('../', import.meta.url)
/** Groups of the sidebar that `llms-full.txt` leaves out. */
const NOT_FOR_USERS = ['For contributors', 'Decisions']

/** Text of `llms.txt` (llmstxt.org): every page with its first sentence, as a link to its Markdown. */
export function llmsText(): string {
  const groups = sidebar.map(({ text, items }) => `## ${text}\n\n${items.map(describePage).join('\n')}\n`)
  return [
    '# agent-host\n',
    '> Agents are YAML files of modules; agent-host serves them over chat completions, responses and MCP.\n',
    ...groups,
  ].join('\n')
}

/** Text of `llms-full.txt`: every page for users, one after the other, as Markdown. */
export function llmsFullText(): string {
  const links = sidebar
    .filter(({ text }) => !NOT_FOR_USERS.includes(text))
    .flatMap(({ items }) => items.map(({ link }) => link))
  return links.map((link) => `<!-- ${link}.md -->\n\n${readPage(link).trim()}\n`).join('\n')
}

function describePage({ text, link }: { text: string; link: string }): string {
  const sentence = firstSentence(readPage(link))
  return `- [${text}](${link}.md)${sentence === '' ? '' : `: ${sentence}`}`
}

function readPage(link: string): string {
  return readFileSync(new URL(`.${link}.md`, FOLDER), 'utf8')
}

/** First sentence of the first paragraph of prose, without links; empty for a page of lists. */
function firstSentence(markdown: string): string {
  const paragraph = markdown.split(/\n{2,}/).find((block) => /^(?!```)[A-Z`[]/.test(block)) ?? ''
  const plain = paragraph.replaceAll('\n', ' ').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  const sentence = /^.*?[.:](?= |$)/.exec(plain)?.[0] ?? plain
  return sentence.replace(/:$/, '.')
}
