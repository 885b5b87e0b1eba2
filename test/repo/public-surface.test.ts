import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Declaration, type ExportNamedDeclaration, type ModuleItem, parseSync } from '@swc/core'
import { expect } from 'chai'
import { runNode } from '../support/run-cli.ts'

const LIST = new URL('public-surface.txt', import.meta.url)
const INDEX = new URL('../../dist/index.d.ts', import.meta.url)
const VALUE = /\b(class|function|const|value)\b/
const KINDS: Readonly<Record<string, string>> = {
  ClassDeclaration: 'class',
  FunctionDeclaration: 'function',
  TsInterfaceDeclaration: 'interface',
  TsTypeAliasDeclaration: 'type',
  VariableDeclaration: 'const',
}

/** Interfaces whose methods authors of modules and adapters call. */
const CALLED = ['Adapter', 'AdapterHttp', 'AdapterOptions', 'AdapterRuns', 'ModuleContext', 'Run']

describe('the public surface', () => {
  const listed = readFileSync(LIST, 'utf8').trimEnd().split('\n')

  it('matches test/repo/public-surface.txt', () => {
    expect(listExports(INDEX)).to.deep.equal(listed)
  })

  it('is complete: exported declarations name only importable types', () => {
    const exported = new Set(listed.map((line) => line.split(':')[0] ?? ''))
    const hidden = [...exportsByFile(INDEX)].flatMap(([file, names]) => hiddenIn(file, names, exported))
    expect(hidden).to.deep.equal([])
  })

  it('is documented: each exported name has a comment', () => {
    const bare = [...exportsByFile(INDEX)].flatMap(([file, names]) => undocumentedIn(file, names))
    expect(bare).to.deep.equal([])
  })

  it('has examples, each from a file that is type-checked', async () => {
    const script = fileURLToPath(new URL('../../scripts/fill-examples.js', import.meta.url))
    expect(await runNode([script, '--check'])).to.deep.equal({ exitCode: 0, stdout: '', stderr: '' })
    const values = listed.filter((line) => VALUE.test(line) && !line.includes(' of ')).map((line) => line.split(':')[0])
    const bare = [...exportsByFile(INDEX)].flatMap(([file, names]) => withoutExample(file, names))
    expect(bare.filter((name) => [...values, ...CALLED].includes(name))).to.deep.equal([])
  })

  it('has the values of that list at run time', async () => {
    const values = listed.filter((line) => VALUE.test(line) && !line.includes(': type of '))
    const exported = await import(new URL('index.js', INDEX).href)
    expect(Object.keys(exported).sort()).to.deep.equal(values.map((line) => line.split(':')[0]).sort())
  })
})

type Export = readonly [name: string, kind: string]

/** Exports of a declaration file, sorted, each with its kinds: `LLM: const, interface`. */
function listExports(file: URL): string[] {
  return exportsOf(file)
    .map(([name, kinds]) => `${name}: ${kinds}`)
    .sort()
}

function exportsOf(file: URL): Export[] {
  return bodyOf(file).flatMap((item) => {
    if (item.type === 'ExportDeclaration') return declarationsOf(item.declaration)
    if (item.type === 'ExportNamedDeclaration') return reexportsOf(item, file)
    if (item.type.startsWith('Export')) throw new Error(`${file}: ${item.type} cannot be listed`)
    return []
  })
}

function reexportsOf({ specifiers, source, typeOnly }: ExportNamedDeclaration, file: URL): Export[] {
  return specifiers.map((specifier) => {
    if (specifier.type !== 'ExportSpecifier' || !source) throw new Error(`${file}: name what is exported, and its file`)
    const { orig, exported, isTypeOnly } = specifier
    const name = (exported ?? orig).value
    const isType = typeOnly || isTypeOnly
    const shipped = /^\.\/types\/((?:@[^/]+\/)?[^/]+)/.exec(source.value)?.[1]
    if (shipped) return [name, `${isType ? 'type' : 'value'} of ${shipped}`]
    const kinds = kindsOf(orig.value, toDeclaration(source.value, file))
    return [name, isType && VALUE.test(kinds) ? `type of ${kinds}` : kinds]
  })
}

/** Kinds under which a file exports a name: a protocol is a const and an interface. */
function kindsOf(name: string, file: URL): string {
  const kinds = exportsOf(file).flatMap(([exported, kind]) => (exported === name ? [kind] : []))
  expect(kinds, `${name} in ${file}`).not.to.deep.equal([])
  return [...new Set(kinds)].sort().join(', ')
}

function declarationsOf(declaration: Declaration): Export[] {
  const kind = KINDS[declaration.type] ?? declaration.type
  if (declaration.type === 'VariableDeclaration')
    return declaration.declarations.map(({ id }) => [id.type === 'Identifier' ? id.value : id.type, kind])
  const { value } = 'identifier' in declaration ? declaration.identifier : declaration.id
  return [[value, kind]]
}

/** Names that the index exports, by the declaration file that holds them. */
function exportsByFile(index: URL): Map<string, string[]> {
  const files = new Map<string, string[]>()
  for (const item of bodyOf(index)) {
    if (item.type === 'ExportDeclaration') files.set(index.href, [...(files.get(index.href) ?? []), ...ownNames(item)])
    if (item.type !== 'ExportNamedDeclaration' || !item.source || !isOwn(item.source.value)) continue
    const { href } = toDeclaration(item.source.value, index)
    const names = item.specifiers.flatMap((specifier) => ('orig' in specifier ? [specifier.orig?.value ?? ''] : []))
    files.set(href, [...(files.get(href) ?? []), ...names])
  }
  return files
}

/** Types of this project that exported declarations of a file name, and that are not exported: `Agent in host.d.ts`. */
function hiddenIn(file: string, names: readonly string[], exported: ReadonlySet<string>): string[] {
  const body = bodyOf(new URL(file))
  const own = body.flatMap(ownNames)
  const declarations = body.filter(
    (item) => item.type === 'ExportDeclaration' && ownNames(item).some((name) => names.includes(name)),
  )
  const hidden = new Set(declarations.flatMap(namedTypes).filter((name) => own.includes(name) && !exported.has(name)))
  return [...hidden].map((name) => `${name} in ${file.split('/').at(-1)}`)
}

/** Names whose declarations in a file all lack a doc comment. */
function undocumentedIn(file: string, names: readonly string[]): string[] {
  const text = readFileSync(new URL(file), 'utf8')
  const documented = [...text.matchAll(/\*\/\nexport (?:declare )?(?:abstract )?\w+ (\w+)/g)].map(([, name]) => name)
  return names.filter((name) => !documented.includes(name)).map((name) => `${name} in ${file.split('/').at(-1)}`)
}

/** Names whose declarations in a file have no example. */
function withoutExample(file: string, names: readonly string[]): string[] {
  const text = readFileSync(new URL(file), 'utf8')
  const shown = [...text.matchAll(/```\n \*\/\nexport (?:declare )?\w+ (\w+)/g)].map(([, name]) => name)
  return names.filter((name) => !shown.includes(name))
}

/** Names that a file declares, or imports from this project. */
function ownNames(item: ModuleItem): string[] {
  if (item.type === 'ImportDeclaration')
    return isOwn(item.source.value) ? item.specifiers.map(({ local }) => local.value) : []
  if (item.type === 'ExportDeclaration') return declarationsOf(item.declaration).map(([name]) => name)
  return 'id' in item && item.id && 'value' in item.id ? [item.id.value] : []
}

/** Declarations of bundled packages are shipped in `types/`. */
function isOwn(source: string): boolean {
  return source.startsWith('.') && !source.includes('/types/')
}

/** First words of the type references, type queries and heritage clauses below a node. */
function namedTypes(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return []
  const below = Object.values(node).flatMap(namedTypes)
  const { type, typeName, expression, exprName } = node as Record<string, unknown>
  if (type === 'TsTypeReference') return [firstWord(typeName), ...below]
  if (type === 'TsExpressionWithTypeArguments') return [firstWord(expression), ...below]
  if (type === 'TsTypeQuery') return [firstWord(exprName), ...below]
  return below
}

function firstWord(name: unknown): string {
  const { left, value } = name as { left?: unknown; value?: string }
  return left === undefined ? (value ?? '') : firstWord(left)
}

function bodyOf(file: URL): ModuleItem[] {
  return parseSync(readFileSync(file, 'utf8'), { syntax: 'typescript', target: 'es2022' }).body
}

function toDeclaration(source: string, from: URL): URL {
  return new URL(source.replace(/\.[jt]s$/, '.d.ts'), from)
}
