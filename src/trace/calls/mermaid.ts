import { type CallTree, nameMethod } from './call-tree.ts'

/** The calls of a run as a Mermaid sequence diagram (its syntax: mermaid.js.org, Sequence Diagrams). */
export function toMermaid(tree: CallTree): string {
  const names = new Map(tree.participants.map((name, index) => [name, `p${index}`]))
  const lines = ['sequenceDiagram']
  for (const [name, alias] of names) lines.push(`  participant ${alias} as ${label(name)}`)
  const steps = tree.calls.flatMap((each) => {
    const { index, endIndex, status } = each
    const [from, to] = [names.get(each.from), names.get(each.to)]
    const call = { index, line: `  ${from}->>+${to}: ${label(nameMethod(each))}` }
    if (endIndex === undefined) return [call]
    const arrow = status === 'done' || status === 'waiting' ? '-->>' : '--x'
    return [call, { index: endIndex, line: `  ${to}${arrow}-${from}: ${status}` }]
  })
  return [...lines, ...steps.sort((a, b) => a.index - b.index).map(({ line }) => line), ''].join('\n')
}

/** Returns a label without the characters that would end a line or begin a comment. */
function label(text: string): string {
  return text.replace(/[\r\n;#:]/g, ' ').trim() || '?'
}
