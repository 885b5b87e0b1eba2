// Writes docs/reference.md, every library module with its config, from its schema, and docs/protocols.md. `--check` only compares.
import { readFileSync, writeFileSync } from 'node:fs'
import { protocolPage } from './protocol-page.js'

const HEAD = `# Module configuration

Every module of the library with its protocols and its \`config\`; [modules](modules.md) introduces them. A dependency marked \`*\` takes every
provider, one marked \`?\` none or one. The scope says whether each run gets an instance of its own (\`instance\`) or all runs share one (\`agent\`). \`a[].b\` is
the field \`b\` of each entry of the list \`a\`. \`npm run reference\` generates this page from the modules.
`

const built = new URL('../dist/', import.meta.url)
const catalog = JSON.parse(readFileSync(new URL('library-catalog.json', built), 'utf8'))
const modules = []
for (const { reference } of catalog) {
  const { default: module } = await import(new URL(`modules/${reference}.js`, built).href)
  modules.push({ reference, module })
}
write('reference', `${HEAD}\n${modules.map(({ reference, module }) => describeModule(reference, module)).join('\n')}`)
write('protocols', protocolPage(modules.map(protocolsOf)))

function write(page, text) {
  const file = new URL(`../docs/${page}.md`, import.meta.url)
  if (!process.argv.includes('--check')) writeFileSync(file, text)
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`docs/${page}.md is not what the source says: npm run reference`)
    process.exitCode = 1
  }
}

function protocolsOf({ reference, module: { provides, uses } }) {
  const used = Object.values(uses).map(({ protocol, name }) => protocol?.name ?? name)
  return { name: reference, provides: provides.map(({ name }) => name), uses: used }
}

function describeModule(reference, { description, provides, uses, scope, config }) {
  const used = Object.values(uses).map((dependency) => {
    const { kind, protocol = dependency } = dependency
    return `\`${protocol.name}\`${kind === 'many' ? '*' : kind === 'optional' ? '?' : ''}`
  })
  const facts = [
    `Provides ${provides.map(({ name }) => `\`${name}\``).join(', ')}`,
    ...(used.length > 0 ? [`uses ${used.join(', ')}`] : []),
    `scope \`${scope}\``,
  ]
  return `## ${reference}\n\n${description}\n\n${facts.join('; ')}.\n${describeConfig(config)}`
}

function describeConfig(config) {
  const rows = rowsOf(config, '')
  if (rows.length === 0) return ''
  return `\n| config | type | default | meaning |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`
}

/** One row for each field, then those of the objects in it. */
function rowsOf({ properties = {}, required = [], anyOf = [], items }, path) {
  if (items) return rowsOf(items, `${path}[]`)
  const fields = Object.entries(properties).flatMap(([name, schema]) => {
    const place = path === '' ? name : `${path}.${name}`
    const fallback = schema.default === undefined ? (required.includes(name) ? 'required' : '') : code(schema.default)
    const row = `| \`${place}\` | ${typeOf(schema)} | ${fallback} | ${escape(schema.description ?? '')} |`
    return [row, ...rowsOf(schema, place)]
  })
  return [...fields, ...anyOf.flatMap((schema) => rowsOf(schema, path))]
}

function typeOf(schema) {
  if (schema.const !== undefined) return code(schema.const)
  if (schema.enum) return schema.enum.map(code).join(', ')
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(', ')
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`
  return schema.type ?? 'anything'
}

/** Long texts, such as prompts, are left out. */
function code(value) {
  const text = JSON.stringify(value)
  return text.length > 60 ? 'built-in text' : `\`${escape(text)}\``
}

function escape(text) {
  return text.replaceAll('|', '\\|').replace(/\s+/g, ' ')
}
