import { readFileSync } from 'node:fs'
import { sidebar } from './sidebar.ts'

const FOLDER = new URL('../', import.meta.url)

/** Text of `llms.txt` (llmstxt.org): every page with its first sentence, as a link to its Markdown. */
export function llmsText(): string {
  const groups = sidebar.map(({ text, items }) => `## ${text}\n\n${items.map(describePage).join('\n')}\n`)
  return [
    '# agent-host\n',
    '> Agents are YAML files of modules; agent-host serves them over chat completions, responses and MCP.\n',
    ...groups,
  ].join('\n')
}

function describePage({ text, link }: { text: string; link: string }): string {
  const sentence = firstSentence(readFileSync(new URL(`.${link}.md`, FOLDER), 'utf8'))
  return `- [${text}](${link}.md)${sentence === '' ? '' : `: ${sentence}`}`
}

/** First sentence of the first paragraph of prose, without links; empty for a page of lists. */
function firstSentence(markdown: string): string {
  const paragraph = markdown.split(/\n{2,}/).find((block) => /^(?!```)[A-Z`[]/.test(block)) ?? ''
  const plain = paragraph.replaceAll('\n', ' ').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  const sentence = /^.*?[.:](?= |$)/.exec(plain)?.[0] ?? plain
  return sentence.replace(/:$/, '.')
}
