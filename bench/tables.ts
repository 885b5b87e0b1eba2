import { readFileSync, writeFileSync } from 'node:fs'
import { ROUNDS } from './compare.ts'

const PAGE = new URL('../docs/benchmarks.md', import.meta.url)

const printed = new Map<string, string>()

/** Prints a table of docs/benchmarks.md with the date and the conditions of its run. @param name of its place there */
export function printTable(
  name: string,
  titles: readonly string[],
  rows: readonly string[][],
  hasCores: boolean,
): void {
  const text = `Measured ${describeRun(hasCores)}\n\n${formatTable([titles, ...rows])}`
  printed.set(name, text)
  console.log(`${text}\n`)
}

/** Puts the tables that were printed into the page, each between its two comments. */
export function writeTables(): void {
  let page = readFileSync(PAGE, 'utf8')
  for (const [name, text] of printed) {
    const [begin, end] = [`<!-- table ${name} -->`, `<!-- end of ${name} -->`]
    const [before, rest] = page.split(begin)
    const after = rest?.split(end)[1]
    if (after === undefined) throw new Error(`docs/benchmarks.md has no ${begin} with an ${end} after it.`)
    page = `${before}${begin}\n\n${text}\n\n${end}${after}`
  }
  writeFileSync(PAGE, page)
}

function describeRun(hasCores: boolean): string {
  const date = new Date().toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' })
  const cores = hasCores ? 'with a core for the server and one for its load' : 'without cores of their own'
  return `on ${date} with Node ${process.versions.node}, ${cores}; medians of ${ROUNDS} rounds, each with new processes.`
}

function formatTable(rows: readonly (readonly string[])[]): string {
  const [titles = [], ...others] = rows
  const widths = titles.map((_, index) => Math.max(...rows.map((row) => (row[index] as string).length)))
  return [titles, widths.map((width) => '-'.repeat(width)), ...others]
    .map((row) => `| ${row.map((cell, index) => cell.padEnd(widths[index] as number)).join(' | ')} |`)
    .join('\n')
}
