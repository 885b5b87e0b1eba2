import { posix } from 'node:path'

/** A link in a Markdown text. */
export interface MarkdownLink {
  readonly target: string
  /** Of the text, from 1. */
  readonly line: number
}

/** `[text](target)`, `![alt](target "title")`, and `[name]: target`. */
const LINKS = [/\]\(\s*<?([^)\s>]+)/g, /^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/g]
const ADDRESS = /^([a-z][a-z0-9+.-]+:|\/\/|#)/i

/** Returns the first link to a file outside the folder of a text. Addresses, and examples in code, are none. */
export function findEscapingLink(text: string): MarkdownLink | undefined {
  let fence: string | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const [, mark] = /^\s*(```+|~~~+)/.exec(line) ?? []
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence))) {
      fence = fence === undefined ? mark : undefined
    } else if (fence === undefined) {
      const prose = line.replace(/`[^`]*`/g, '')
      const targets = LINKS.flatMap((pattern) => [...prose.matchAll(pattern)].map(([, target = '']) => target))
      const target = targets.find(leavesFolder)
      if (target !== undefined) return { target, line: index + 1 }
    }
  }
  return undefined
}

function leavesFolder(target: string): boolean {
  if (/^file:/i.test(target)) return true
  if (ADDRESS.test(target)) return false
  const path = posix.normalize(decode(target).replaceAll('\\', '/'))
  return path === '..' || path.startsWith('../') || path.startsWith('/')
}

function decode(target: string): string {
  try {
    return decodeURI(target)
  } catch {
    return target
  }
}
