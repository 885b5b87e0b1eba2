// Writes docs/reference.md: every library module with its config, from its schema. `--check` only compares.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { listLibrary, ModuleLoader } from '../dist/module/load-module.js'
import { ProjectCode } from '../dist/module/project-code.js'

const PAGE = fileURLToPath(new URL('../docs/reference.md', import.meta.url))
const HEAD = `# Module configuration

Every module of the library with its protocols and its \`config\`; [modules](modules.md) introduces them. A dependency marked \`*\` takes every
provider, one marked \`?\` none or one. \`npm run reference\` generates this page from the modules.
`

const root = fileURLToPath(new URL('..', import.meta.url))
const loader = new ModuleLoader(root, new ProjectCode(root))
const sections = []
for (const reference of listLibrary()) sections.push(describeModule(reference, (await loader.load(reference)).module))
const text = `${HEAD}\n${sections.join('\n')}`

if (!process.argv.includes('--check')) writeFileSync(PAGE, text)
else if (readFileSync(PAGE, 'utf8') !== text) {
  console.error('docs/reference.md is not what the modules say: npm run reference')
  process.exitCode = 1
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

function describeConfig({ properties = {}, required = [] }) {
  const rows = Object.entries(properties).map(([name, schema]) => {
    const fallback = schema.default === undefined ? (required.includes(name) ? 'required' : '') : code(schema.default)
    return `| \`${name}\` | ${typeOf(schema)} | ${fallback} | ${escape(schema.description ?? '')} |`
  })
  if (rows.length === 0) return ''
  return `\n| config | type | default | |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`
}

function typeOf(schema) {
  if (schema.const !== undefined) return code(schema.const)
  if (schema.enum) return schema.enum.map(code).join(', ')
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(', ')
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`
  return schema.type ?? 'anything'
}

/** Long texts, as prompts are, stand in the source. */
function code(value) {
  const text = JSON.stringify(value)
  return text.length > 60 ? 'in the source' : `\`${escape(text)}\``
}

function escape(text) {
  return text.replaceAll('|', '\\|').replace(/\s+/g, ' ')
}
