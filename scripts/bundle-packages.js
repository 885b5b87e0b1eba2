// typebox comes as 680 files and oclif, with what it needs, as 130: loading them was most of the time that a command needs to start.
// The build puts what agent-host uses of them into a few files beside its own code.
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Packages by the folder of their bundle: its files, by the name that the code imports. */
const BUNDLES = {
  typebox: { typebox: 'typebox.js', 'typebox/compile': 'compile.js', 'typebox/value': 'value.js' },
  oclif: { '@oclif/core': 'core.js' },
}

/** Imported names of a CommonJS package: a bundle would not export them by itself. */
const NAMES = { '@oclif/core': ['Args', 'Command', 'Errors', 'Flags', 'Help', 'execute'] }

/** Variables that every CommonJS file has. */
const COMMON_JS = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
const __dirname = import.meta.dirname`

const FILE_OF = Object.fromEntries(
  Object.entries(BUNDLES).flatMap(([folder, files]) =>
    Object.entries(files).map(([name, file]) => [name, join(folder, file)]),
  ),
)

/**
 * Bundles each package into a folder of the built code, and has that code import it from there.
 *
 * @param {string} dist absolute path of the built code
 */
export async function bundlePackages(dist) {
  await bundleTypebox(join(dist, 'typebox'))
  await bundleOclif(join(dist, 'oclif'))
  for (const file of readdirSync(dist, { recursive: true })) {
    if (file.endsWith('.js') && !/^(ui|typebox|oclif)[\\/]/.test(file)) importFromBundles(dist, join(dist, file))
  }
}

async function bundleTypebox(folder) {
  const entryPoints = Object.entries(BUNDLES.typebox).map(([name, file]) => ({
    in: name,
    out: file.replace('.js', ''),
  }))
  await build({ ...OPTIONS, entryPoints, outdir: folder, splitting: true })
  copyFileSync(resolve(fileURLToPath(import.meta.resolve('typebox')), '../../license'), join(folder, 'LICENSE'))
}

/** Packages that oclif looks for in development alone stay outside. */
async function bundleOclif(folder) {
  const contents = `export { ${NAMES['@oclif/core'].join(', ')} } from '@oclif/core'`
  const outfile = join(folder, BUNDLES.oclif['@oclif/core'])
  const stdin = { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)) }
  const options = {
    stdin,
    outfile,
    banner: { js: COMMON_JS },
    external: ['ts-node', 'tsx', 'typescript'],
    metafile: true,
  }
  const { metafile } = await build({ ...OPTIONS, ...options })
  writeFileSync(join(folder, 'LICENSES.txt'), readLicenses(Object.keys(metafile.inputs)))
}

/** The licenses of all packages that these files come from: oclif brings some twenty others. */
function readLicenses(files) {
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [])
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
    return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), 'utf8').trim() : ''}\n`
  })
  return texts.join('\n---\n\n')
}

const OPTIONS = { bundle: true, format: 'esm', platform: 'node', target: 'node20' }

function importFromBundles(dist, file) {
  const code = readFileSync(file, 'utf8')
  const imports = /(\bfrom |\bimport\()(['"])((?:typebox|@oclif)(?:\/[\w/-]+)?)\2/g
  const changed = code.replace(imports, (_all, before, quote, name) => {
    if (!(name in FILE_OF)) throw new Error(`${file} imports ${name}, which scripts/bundle-packages.js does not bundle`)
    const path = relative(join(file, '..'), join(dist, FILE_OF[name])).split(sep).join('/')
    return `${before}${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`
  })
  if (changed !== code) writeFileSync(file, changed)
}
