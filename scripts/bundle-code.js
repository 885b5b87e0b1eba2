// The compiler writes 420 files, and a server loads 320 of them to start, beside a thousand of the packages that take longest to load. The
// build joins them into the files by which agent-host is entered, and what these share.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Files that something loads by their path: programs, the command line, oclif, and threads. */
const ENTRIES = [
  'index',
  'prebuilt-help',
  'command-line',
  'commands/index',
  'commands/help/suggesting-help',
  'commands/help/command-not-found',
  'store/sqlite/sqlite-worker',
  'tape/recording/tape-service',
  'trace/thread/trace-service',
]

/** Packages that become part of the built code, with what they need: docs/decisions/bundled-code.md says why these. */
export const BUNDLED = ['@fastify/swagger', '@oclif/core', 'fastify', 'graphql', 'graphql-http', 'typebox', 'yaml']

/** Runs in its own file, which it insists on: a thread and an executable belong to it. */
const COPIED = 'esbuild'

/** Packages that oclif loads for plugins in TypeScript. */
const NEVER = ['ts-node', 'tsx', 'typescript']

/** Stands for the URL of the folder of the built code. */
const FOLDER = 'FOLDER_OF_BUILT_CODE'

/** Variables that every CommonJS file has. */
const COMMON_JS = `import { createRequire as requireOf } from 'node:module'
const require = requireOf(import.meta.url)
const __dirname = import.meta.dirname`

const root = fileURLToPath(new URL('..', import.meta.url))

const BUILD = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20',
  // Packages look for mistakes in development: without this, GraphQL spends half as much again on an answer.
  define: { 'process.env.NODE_ENV': '"production"' },
  legalComments: 'none',
  metafile: true,
}

const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/**
 * Bundles the code in a folder, in place. The library's modules stay as they are: they are loaded by their path.
 *
 * @param {string} dist absolute path of the compiled code
 * @param {string} compiled absolute path of a folder that gets the files as the compiler wrote them
 */
export async function bundleCode(dist, compiled) {
  for (const file of listOwnCode(dist)) {
    cpSync(join(dist, file), join(compiled, file))
    rmSync(join(dist, file))
  }
  const code = await build({
    ...BUILD,
    entryPoints: ENTRIES.map((name) => ({ in: join(compiled, `${name}.js`), out: name })),
    outdir: dist,
    chunkNames: 'chunks/[name]-[hash]',
    plugins: [lateCompilers, packagesApart(compiled), keepFileUrls(compiled)],
    banner: { js: COMMON_JS },
    splitting: true,
    format: 'esm',
  })
  for (const output of Object.keys(code.metafile.outputs)) insertFolder(output, dist)
  const serializer = await build({ ...BUILD, entryPoints: [SERIALIZER], outfile: join(dist, SERIALIZER_FILE) })
  copyEsbuild(join(dist, COPIED))
  const inputs = [code, serializer].flatMap(({ metafile }) => Object.keys(metafile.inputs))
  describePackages(dist, [...inputs, `node_modules/${COPIED}`])
}

function listOwnCode(dist) {
  return readdirSync(dist, { recursive: true }).filter(
    (file) => file.endsWith('.js') && !/^(ui|modules|api-docs|callback)[\\/]/.test(file),
  )
}

/** Leaves packages apart that are not bundled: our code imports them, and a bundled package finds them if it is the same copy. */
function packagesApart(compiled) {
  return {
    name: 'packages-apart',
    setup(build) {
      build.onResolve({ filter: /^[^./]/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
        const [name] = /^(@[^/]+\/)?[^/]+/.exec(path)
        if (pluginData === 'asked' || BUNDLED.includes(name)) return undefined
        if (importer.startsWith(compiled) || NEVER.includes(name)) return { path, external: true }
        if (!(name in dependencies)) return undefined
        const found = await build.resolve(path, { importer, kind, resolveDir, pluginData: 'asked' })
        return found.path.startsWith(join(root, 'node_modules', name) + sep) ? { path, external: true } : undefined
      })
    },
  }
}

const SERIALIZER = '@fastify/fast-json-stringify-compiler'
const SERIALIZER_FILE = 'serializer.cjs'

/**
 * Fastify loads its compilers before the first route. The server sets a validator of its own, and the first answer with a schema is
 * early enough for its serializer, which has a file of its own: an eighth of the code of a start.
 */
const lateCompilers = {
  name: 'late-compilers',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@fastify\/(ajv|fast-json-stringify)-compiler$/ }, ({ path }) => ({ path, namespace: 'late' }))
    onLoad({ filter: /.*/, namespace: 'late' }, ({ path }) => ({
      contents: path === SERIALIZER ? LATE_SERIALIZER : 'module.exports = () => undefined',
    }))
  },
}

const LATE_SERIALIZER = `module.exports = () => (schemas, options) => {
  let compile
  return (route) => {
    let serialize
    return (value) => {
      compile ??= requireOf(${FOLDER})('./${SERIALIZER_FILE}')()(schemas, options)
      serialize ??= compileRoute(compile, route)
      return serialize(value)
    }
  }
}
// The route answers with 500. The first error has the reason, the others are one line.
function compileRoute(compile, route) {
  try {
    return compile(route)
  } catch ({ message }) {
    const { method, url, httpStatus, contentType } = route
    const kind = contentType === undefined ? '' : ', ' + contentType
    const title = \`The response schema of \${method} \${url} for status \${httpStatus}\${kind} is invalid\`
    let text = \`\${title}: \${message}. Correct schema.response in the adapter that adds the route.\`
    return () => {
      const error = new Error(text)
      error.stack = text
      text = title + ': see the first error.'
      throw error
    }
  }
}`

/** `import.meta.url` keeps naming the file that it stands in: what lies beside that file is found as before. */
function keepFileUrls(compiled) {
  return {
    name: 'keep-file-urls',
    setup({ onLoad, esbuild }) {
      onLoad({ filter: /\.js$/ }, async ({ path }) => {
        if (!path.startsWith(compiled)) return undefined
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

/** Copies esbuild's code without its install script, of which package managers warn. Its executable is in the package of each platform. */
function copyEsbuild(folder) {
  const source = join(root, 'node_modules', COPIED)
  cpSync(join(source, 'lib/main.js'), join(folder, 'lib/main.js'))
  const { name, version, license } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version, license, type: 'commonjs' }))
}

/** Writes down which packages the built code comes from: names and versions, and the texts of their licenses. */
function describePackages(dist, inputs) {
  const folders = inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [])
  const packages = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry))
    const text = file ? readFileSync(join(root, folder, file), 'utf8').trim() : ''
    return { name, version, path: folder, notice: `${name} ${version} (${license})\n\n${text}\n` }
  })
  writeFileSync(join(dist, 'LICENSES.txt'), packages.map(({ notice }) => notice).join('\n---\n\n'))
  const versions = packages.map(({ notice: _, ...facts }) => ({
    ...facts,
    isNeeded: ![...BUNDLED, COPIED].includes(facts.name),
  }))
  writeFileSync(join(dist, 'bundled-packages.json'), JSON.stringify(versions, null, 1))
}
