// Puts the regions of test/doc-examples, which are type-checked, into the doc comments of the exports that they are named for. With --check it
// changes nothing, and names what differs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const EXAMPLES = `${ROOT}test/doc-examples/`
const isCheck = process.argv.includes('--check')

/** @returns {Map<string, string>} code by the name of its region */
function readRegions() {
  const texts = readdirSync(EXAMPLES).map((file) => readFileSync(EXAMPLES + file, 'utf8'))
  const regions = texts.flatMap((text) => [...text.matchAll(/^\/\/ #region (\w+)\n([\s\S]*?)\n\/\/ #endregion$/gm)])
  return new Map(regions.map(([, name = '', code = '']) => [name, code]))
}

/** @param {string} text @param {string} name @param {string} code @returns {string | undefined} undefined where the text does not declare it */
function fillIn(text, name, code) {
  const declared = new RegExp(
    `^/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\nexport (?:async )?(?:function|class|const|interface) ${name}\\b`,
    'm',
  )
  const found = declared.exec(text)
  if (!found) return undefined
  const [whole, body = ''] = found
  const said = body.replace(/\n \*\n \* @example\n[\s\S]*$/, '').trim()
  const lines = said.startsWith('*') ? said : `* ${said}`
  const example = ['@example', '```ts', ...code.replaceAll('*/', '*\\/').split('\n'), '```']
  const comment = [`/**\n ${lines.trimEnd()}`, ' *', ...example.map((line) => ` * ${line}`.trimEnd()), ' */'].join('\n')
  const head = whole.slice(whole.indexOf('*/\nexport') + 3)
  return `${text.slice(0, found.index)}${comment}\n${head}${text.slice(found.index + whole.length)}`
}

/** Returns the files that hold the exports of agent-host, by their names. */
function readExports() {
  const index = readFileSync(`${ROOT}src/index.ts`, 'utf8')
  const places = new Map(
    [...index.matchAll(/^export (?:type )?\{([^}]*)\} from '\.\/([^']+)'/gm)].flatMap(([, names = '', file = '']) =>
      names.split(',').map((name) => /** @type {const} */ ([name.replace(/^\s*(type )?/, '').trim(), file])),
    ),
  )
  for (const [, name = ''] of index.matchAll(/^export async function (\w+)/gm)) places.set(name, 'index.ts')
  return places
}

const places = readExports()
const texts = new Map()
const problems = []
for (const [name, code] of readRegions()) {
  const file = places.get(name) ?? ''
  const text = file === '' ? '' : (texts.get(file) ?? readFileSync(`${ROOT}src/${file}`, 'utf8'))
  const filled = fillIn(text, name, code)
  if (filled === undefined) problems.push(`test/doc-examples: there is no export '${name}' with a doc comment`)
  else texts.set(file, filled)
}
for (const [file, text] of texts) {
  const path = `${ROOT}src/${file}`
  if (readFileSync(path, 'utf8') === text) continue
  if (isCheck)
    problems.push(`src/${file} has other examples than test/doc-examples. Run: node scripts/fill-examples.js`)
  else writeFileSync(path, text)
}
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
