import { readFileSync } from 'node:fs'
import { type Declaration, type ExportNamedDeclaration, parseSync } from '@swc/core'
import { expect } from 'chai'

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

describe('the public surface', () => {
  const listed = readFileSync(LIST, 'utf8').trimEnd().split('\n')

  it('is the list in test/repo/public-surface.txt: a change of it is a change for everybody who imports agent-host', () => {
    expect(listExports(INDEX)).to.deep.equal(listed)
  })

  it('is at run time the values of that list', async () => {
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
  const { body } = parseSync(readFileSync(file, 'utf8'), { syntax: 'typescript', target: 'es2022' })
  return body.flatMap((item) => {
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
    if (!source.value.startsWith('.')) return [name, `${isType ? 'type' : 'value'} of ${source.value}`]
    const kinds = kindsOf(orig.value, new URL(source.value.replace(/\.[jt]s$/, '.d.ts'), file))
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
