// After the compiler: what it does not copy, the compressed page, the catalog of the library, the manifest of the commands, the
// ready texts of bin/run.js, and the bundles.
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { Config } from '@oclif/core'
import { bundleCode } from './bundle-code.js'
import { shipTypes } from './ship-types.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const pjson = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))

cpSync(`${root}modules`, `${root}dist/modules`, {
  recursive: true,
  filter: (path) => !/\.(ts|json)$|__pycache__/.test(path),
})

for (const file of readdirSync(`${root}src`, { recursive: true })) {
  if (/\.(graphql|json|lua|sql)$/.test(file)) cpSync(`${root}src/${file}`, `${root}dist/${file}`)
}
compressPage(`${root}dist/ui`)
buildApiDocs(`${root}dist/api-docs`)
cpSync(`${root}ui/callback`, `${root}dist/callback`, { recursive: true })

const { collectLibraryCatalog } = await import('../dist/module/library-catalog.js')
writeFileSync(`${root}dist/library-catalog.json`, JSON.stringify(await collectLibraryCatalog()))

const config = await Config.load({ root })
const plugin = config.plugins.get(pjson.name)
writeFileSync(`${root}oclif.manifest.json`, JSON.stringify(plugin.manifest))

const { default: SuggestingHelp } = await import('../dist/commands/help/suggesting-help.js')

class WrittenHelp extends SuggestingHelp {
  lines = []
  log(...parts) {
    this.lines.push(parts.join(' '))
  }
}

async function writeHelp(args) {
  const help = new WrittenHelp(config, { ...config.pjson.oclif.helpOptions, maxWidth: 100, stripAnsi: true })
  await help.showHelp(args)
  // The line of the version names the machine that it was written on.
  const text = help.lines.join('\n').replace(config.userAgent, `${pjson.name}/${pjson.version}`)
  return `${text.trimEnd()}\n`
}

const help = { '': await writeHelp([]) }
for (const id of config.commandIDs) help[id] = await writeHelp([id])
const version = `${pjson.name}/${pjson.version}\n`
writeFileSync(`${root}dist/ready-texts.json`, JSON.stringify({ version, help }))
await bundleCode(`${root}dist`, `${root}build`)
shipTypes(`${root}dist`)

/** The page of the API, and the viewer that it uses: the largest file of the package, so that it is there only compressed. */
function buildApiDocs(folder) {
  const viewer = `${root}node_modules/openapi-explorer`
  cpSync(`${root}ui/api-docs`, folder, { recursive: true })
  cpSync(`${viewer}/LICENSE`, join(folder, 'explorer.LICENSE.txt'))
  const script = readFileSync(`${viewer}/dist/browser/openapi-explorer.min.js`)
  writeFileSync(join(folder, 'explorer.js.gz'), gzipSync(script, { level: 9 }))
}

/** The files of the page are served compressed; that is done once, here. */
function compressPage(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!/\.(html|js|css|svg)$/.test(name)) continue
    const bytes = readFileSync(join(folder, name))
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes))
    writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }))
  }
}
