import type { CallTree } from './call-tree.ts'

/** The calls of a run as a Mermaid sequence diagram (its syntax: mermaid.js.org, Sequence Diagrams). */
export function toMermaid(tree: CallTree): string {
  const names = new Map(tree.participants.map((name, index) => [name, `p${index}`]))
  const lines = ['sequenceDiagram']
  for (const [name, alias] of names) lines.push(`  participant ${alias} as ${label(name)}`)
  const steps = tree.calls.flatMap(({ index, endIndex, callerId, moduleId, method, status }) => {
    const [from, to] = [names.get(callerId), names.get(moduleId)]
    const call = { index, line: `  ${from}->>+${to}: ${label(method)}` }
    if (endIndex === undefined) return [call]
    const arrow = status === 'failed' ? '--x' : '-->>'
    return [call, { index: endIndex, line: `  ${to}${arrow}-${from}: ${status === 'failed' ? 'failed' : 'done'}` }]
  })
  return [...lines, ...steps.sort((a, b) => a.index - b.index).map(({ line }) => line), ''].join('\n')
}

/** What would end a line or begin a comment is left out. */
function label(text: string): string {
  return text.replace(/[\r\n;#:]/g, ' ').trim() || '?'
}
