/** Words of the page of concepts, by the anchor that explains them, as they are written in prose. A word that is a verb, too, needs an article or its plural. */
const CONCEPTS: readonly (readonly [anchor: string, words: RegExp])[] = [
  ['child-run', /\bchild runs?\b/i],
  ['entry-point', /\bentry points?\b/i],
  ['agent', /(?<![\w-])agents?(?![\w-]| (?:SDKs?|Skills)\b)/i],
  ['module', /\bmodules?\b/i],
  ['protocol', /\bprotocols?\b/i],
  ['wiring', /\bwiring\b/i],
  ['exchange', /\b(?:an|the) exchange\b/i],
  ['scope', /\bscope\b(?= (?:ends|says|of a module))/i],
  ['adapter', /\badapters?\b/i],
  ['response', /\b(?:stored|background|a|the) responses?\b(?![- ](?:API|adapter|compatible))/i],
  ['conversation', /\bconversations?\b/i],
  ['approval', /\bapprovals?\b/i],
  ['key', /\b(?:a|the) key\b(?= (?:belongs|ends|lacks|names scopes|with the scope|without a tenant))/i],
  ['trigger', /\b(?:a|the|each) triggers?\b/i],
  ['schedule', /\b(?:a|the|each) schedules?\b/i],
  ['webhook', /\b(?:a|the) webhooks?\b/i],
  ['trace', /\b(?:a|the) traces?\b/i],
  ['tape', /\btapes?\b/i],
  ['variant', /\bvariants?\b/i],
  ['tenant', /\btenants?\b/i],
  ['turn', /\b(?:a|one|the next|each|earlier|many) turns?\b/i],
  ['case', /\b(?:a|each|of the) cases?\b/i],
  [
    'run',
    /\b(?:a|an earlier|one|each|every|the|waiting|recorded) runs?\b(?! (?:agent-host|it|on|the|without|and ends)\b)/i,
  ],
]

/** The part of a token of markdown-it that this needs. */
export interface Token {
  type: string
  content: string
  children?: Token[] | null
  attrs?: [string, string][] | null
}

type MakeToken = (type: string, tag: string, nesting: -1 | 0 | 1) => Token

/** Links each concept to its explanation where prose first names it: not in headings, code and links, and not on the page of concepts. */
export function linkConcepts(tokens: readonly Token[], make: MakeToken): void {
  const left = new Map(CONCEPTS)
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'inline' || tokens[index - 1]?.type === 'heading_open') continue
    token.children = linkIn(token.children ?? [], left, make)
  }
}

function linkIn(children: readonly Token[], left: Map<string, RegExp>, make: MakeToken): Token[] {
  let depth = 0
  return children.flatMap((child) => {
    if (child.type === 'link_open') depth++
    if (child.type === 'link_close') depth--
    return depth === 0 && child.type === 'text' ? linkText(child.content, left, make) : [child]
  })
}

function linkText(text: string, left: Map<string, RegExp>, make: MakeToken): Token[] {
  const found = [...left].flatMap(([anchor, words]) => {
    const match = words.exec(text)
    return match ? [{ anchor, index: match.index, word: match[0] }] : []
  })
  const [first] = found.sort((one, other) => one.index - other.index)
  if (!first) return [textToken(text, make)]
  const { anchor, index, word } = first
  left.delete(anchor)
  const open = Object.assign(make('link_open', 'a', 1), { attrs: [['href', `/concepts#${anchor}`]] })
  const link = [open, textToken(word, make), make('link_close', 'a', -1)]
  const rest = text.slice(index + word.length)
  return [textToken(text.slice(0, index), make), ...link, ...linkText(rest, left, make)]
}

function textToken(content: string, make: MakeToken): Token {
  return Object.assign(make('text', '', 0), { content })
}
