// typebox comes as 680 files, and loading them was most of the time that a command needs to start. The build puts the
// three entries that agent-host uses into a few files beside its own code.
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ENTRIES = { typebox: 'typebox.js', 'typebox/compile': 'compile.js', 'typebox/value': 'value.js' }

/**
 * Bundles typebox into a folder `typebox` of the built code, and has that code import it from there.
 *
 * @param {string} dist absolute path of the built code
 */
export async function bundleTypebox(dist) {
  const folder = join(dist, 'typebox')
  await build({
    entryPoints: Object.entries(ENTRIES).map(([name, file]) => ({ in: name, out: file.replace('.js', '') })),
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
  })
  copyFileSync(resolve(fileURLToPath(import.meta.resolve('typebox')), '../../license'), join(folder, 'LICENSE'))
  for (const file of readdirSync(dist, { recursive: true })) {
    if (file.endsWith('.js') && !/^(ui|typebox)[\\/]/.test(file)) importFrom(folder, join(dist, file))
  }
}

function importFrom(folder, file) {
  const code = readFileSync(file, 'utf8')
  const changed = code.replace(/(\bfrom |\bimport\()(['"])(typebox(?:\/[\w/-]+)?)\2/g, (_all, before, quote, name) => {
    if (!(name in ENTRIES)) throw new Error(`${file} imports ${name}, which scripts/bundle-typebox.js does not bundle`)
    const path = relative(join(file, '..'), join(folder, ENTRIES[name])).split(sep).join('/')
    return `${before}${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`
  })
  if (changed !== code) writeFileSync(file, changed)
}
