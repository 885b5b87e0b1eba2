// The compiler writes 420 files, and a server loads 320 of them to start. The build joins them into the files by which agent-host is
// entered, and what these share.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { build } from 'esbuild'

/** Files that something loads by their path: programs, the command line, oclif, and threads. */
const ENTRIES = [
  'index',
  'prebuilt-help',
  'commands/index',
  'commands/suggesting-help',
  'commands/command-not-found',
  'store/sqlite/sqlite-worker',
  'trace/trace-service',
]

/** Stands for the URL of the folder of the built code. */
const FOLDER = 'FOLDER_OF_BUILT_CODE'

/**
 * Bundles the code in a folder, in place. Declarations stay as they are; the library's modules too, which are loaded by their path.
 *
 * @param {string} dist absolute path of the compiled code
 * @param {string} compiled absolute path of a folder that gets the files as the compiler wrote them
 */
export async function bundleCode(dist, compiled) {
  for (const file of listOwnCode(dist)) {
    cpSync(join(dist, file), join(compiled, file))
    rmSync(join(dist, file))
  }
  const { metafile } = await build({
    entryPoints: ENTRIES.map((name) => ({ in: join(compiled, `${name}.js`), out: name })),
    outdir: dist,
    chunkNames: 'chunks/[name]-[hash]',
    plugins: [keepFileUrls(compiled)],
    packages: 'external',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    metafile: true,
  })
  for (const output of Object.keys(metafile.outputs)) insertFolder(output, dist)
}

function listOwnCode(dist) {
  return readdirSync(dist, { recursive: true }).filter(
    (file) => file.endsWith('.js') && !/^(ui|modules|api-docs)[\\/]/.test(file),
  )
}

/** `import.meta.url` keeps naming the file that it stands in: what lies beside that file is found as before. */
function keepFileUrls(compiled) {
  return {
    name: 'keep-file-urls',
    setup({ onLoad, esbuild }) {
      onLoad({ filter: /\.js$/ }, async ({ path }) => {
        const file = relative(compiled, path).split(sep).join('/')
        const { code } = await esbuild.transform(readFileSync(path, 'utf8'), {
          define: { 'import.meta.url': 'fileUrl' },
        })
        return {
          contents: code.includes('fileUrl') ? `var fileUrl = new URL('${file}', ${FOLDER}).href\n${code}` : code,
        }
      })
    },
  }
}

function insertFolder(output, dist) {
  const code = readFileSync(output, 'utf8')
  if (!code.includes(FOLDER)) return
  const up = '../'.repeat(relative(dist, dirname(output)).split(sep).filter(Boolean).length)
  writeFileSync(output, code.replaceAll(FOLDER, `new URL('./${up}', import.meta.url)`))
}
