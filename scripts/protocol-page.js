// Text of docs/protocols.md: every protocol with its methods, types and example, from the declarations and doc comments of src/.
import { readFileSync } from 'node:fs'

const SOURCE = new URL('../src/', import.meta.url)
/** Files of protocols, in the order of a reader. */
const PROTOCOLS = [
  'message-handlers',
  'response',
  'llm',
  'tool-provider',
  'conversation-history',
  'memory',
  'embedder',
  'vector-index',
  'chunker',
  'storage',
  'guard',
  'approval-policy',
  'skills',
].map((name) => `protocols/${name}.ts`)
/** Types that methods take and return, beside those in the file of a protocol. */
const SHARED = [
  ['The run', 'Every method that does work takes it last, and hands it on.', ['protocols/run.ts']],
  ['Messages', 'A conversation, oldest message first.', ['protocols/message.ts']],
  [
    'Tools and options',
    'What a model gets beside the messages.',
    ['protocols/tool-definition.ts', 'protocols/model-options.ts'],
  ],
  [
    'The result of a run',
    'What `host.run`, `project.run` and `http.startTurn` give.',
    ['run/turn.ts', 'run/waiting/pending-call.ts'],
  ],
]
/** Protocols that the host itself provides. */
const OF_HOST = ['Response', 'ConversationHistory', 'Storage']
const HIDDEN = ['Turn', 'RunHandle', 'RunEnd', 'StorageOwner', 'StorageSource', 'GivenAnswer']
const HEAD = `# Protocols

Every protocol of agent-host: its methods with types, who calls them and when, what they may throw, and an example. [Writing a module](writing-modules.md) introduces them, and
shows how to define one of your own. Everything here is exported by \`agent-host\`. \`npm run reference\` generates this page from the source.

A method that is not marked otherwise may also throw the reason of an abort, when \`run.signal\` aborts. Methods may be called by several runs at once where the module has the scope
\`agent\`; a module with the scope \`instance\` serves one run.
`

/** @param {{ name: string, provides: string[], uses: string[] }[]} modules of the library, with the names of their protocols */
export function protocolPage(modules) {
  const exported = readFileSync(new URL('index.ts', SOURCE), 'utf8')
  const isPublic = (name) => new RegExp(`\\b${name}\\b`).test(exported) && !HIDDEN.includes(name)
  const files = PROTOCOLS.map((file) => declarationsOf(file).filter(({ name }) => isPublic(name)))
  const rows = files
    .flat()
    .filter(({ isProtocol }) => isProtocol)
    .map((each) => overview(each, modules))
  const sections = files.flatMap((declarations) => describeFile(declarations, modules))
  const shared = SHARED.map(([title, text, paths]) => {
    const declarations = paths.flatMap(declarationsOf).filter(({ name }) => isPublic(name))
    const examples = declarations.flatMap(({ comment }) => exampleOf(comment))
    return [`## ${title}`, text, block(declarations.map(withComments)), ...examples.map((code) => block([code]))].join(
      '\n\n',
    )
  })
  const table = ['| protocol | methods | provided by |', '| --- | --- | --- |', ...rows].join('\n')
  return `${[HEAD.trimEnd(), table, ...sections, ...shared].join('\n\n')}\n`
}

/** Exported interfaces and types of a file, with their doc comments. */
function declarationsOf(path) {
  const text = readFileSync(new URL(path, SOURCE), 'utf8')
  return text.split(/\n\n(?! )/).flatMap((part) => {
    const found = /^(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?(export (?:interface|type) (\w+)[\s\S]*)$/.exec(part.trim())
    if (!found) return []
    const [, comment = '', code = '', name = ''] = found
    const [declaration, protocol] = code.split('\nexport const ')
    return [{ name, comment, code: declaration.trim(), isProtocol: protocol?.includes('defineProtocol') ?? false }]
  })
}

function overview({ name, code }, modules) {
  const methods = methodsOf(code).map((method) => `\`${method.name}\``)
  const host = OF_HOST.includes(name) ? ['the host'] : []
  const providers = modules.filter(({ provides }) => provides.includes(name)).map((module) => `\`${module.name}\``)
  return `| [\`${name}\`](#${name.toLowerCase()}) | ${methods.join(', ')} | ${[...host, ...providers].join(', ') || 'modules of yours'} |`
}

function describeFile(declarations, modules) {
  const types = declarations.filter(({ isProtocol }) => !isProtocol)
  const protocols = declarations.filter(({ isProtocol }) => isProtocol)
  return protocols.map((each, index) => {
    const last = index === protocols.length - 1 && types.length > 0
    return [describeProtocol(each, modules), ...(last ? ['Its types:', block(types.map(withComments))] : [])].join(
      '\n\n',
    )
  })
}

function describeProtocol({ name, comment, code }, modules) {
  const users = modules.filter(({ uses }) => uses.includes(name)).map((module) => `\`${module.name}\``)
  return [
    `## ${name}`,
    readComment(comment).text,
    ...(users.length > 0 ? [`Used by ${users.join(', ')}.`] : []),
    block([withoutComments(code)]),
    methodsOf(code).map(describeMethod).join('\n'),
    ...exampleOf(comment).map((example) => block([example])),
  ].join('\n\n')
}

function describeMethod({ name, comment }) {
  const { text, param, remarks, throws, returns } = readComment(comment)
  const facts = [
    ...[...param, ...(returns === '' ? [] : [`Returns ${returns}.`])].map((each) => `  - ${each}`),
    ...(remarks === '' ? [] : [`  - *Called*: ${remarks}`]),
    ...(throws === ''
      ? []
      : [throws.startsWith('fails') ? `  - *What it throws* ${throws}.` : `  - *Throws*: ${throws}.`]),
  ]
  return [`- **\`${name}\`**: ${text}`, ...facts].join('\n')
}

/** Methods of an interface, with their doc comments; properties are left out. */
function methodsOf(code) {
  const found = code.matchAll(/(?: {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)? {2}(\w+)\??\(/g)
  return [...found].map(([, comment = '', name = '']) => ({ name, comment }))
}

/** A doc comment: its text, and its tags, each on one line. */
function readComment(comment) {
  const plain = comment
    .replace(/\n? *\* ?@example[\s\S]*$/, '')
    .replaceAll(/^ *\* ?/gm, '')
    .replaceAll(/\{@link ([^}]+)\}/g, '`$1`')
  const [text = '', ...tags] = plain.split(/\n?@(?=param|returns|remarks|throws)/)
  const read = (tag) =>
    tags.filter((each) => each.startsWith(`${tag} `)).map((each) => oneLine(each.slice(tag.length + 1)))
  const param = read('param').map((each) => `${each.replace(/^(\w+) /, '`$1`: ')}.`)
  const throws = read('throws').map((each) =>
    each.replace(/^unknown /, '').replace(/\b(HostError|TypeError)\b/g, '`$1`'),
  )
  return {
    text: oneLine(text),
    param,
    remarks: read('remarks').join(' '),
    returns: read('returns').join(' '),
    throws: throws.join('; '),
  }
}

function exampleOf(comment) {
  const found = /@example\n \* ```ts\n([\s\S]*?) \* ```/.exec(comment)
  return found
    ? [
        found[1]
          .replaceAll(/^ \* ?/gm, '')
          .replaceAll('*\\/', '*/')
          .trimEnd(),
      ]
    : []
}

function withComments({ comment, code }) {
  const { text } = readComment(comment)
  return (text === '' ? '' : `/** ${text} */\n`) + code.replaceAll(/\n \*\n \* @example[\s\S]*?(?=\n \*\/)/g, '')
}

function withoutComments(code) {
  return code.replaceAll(/^ *\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n/gm, '')
}

function block(codes) {
  return `\`\`\`ts\n${codes.join('\n\n')}\n\`\`\``
}

function oneLine(text) {
  return text.replaceAll(/\s+/g, ' ').trim()
}
