// typebox comes as 680 files, oclif with what it needs as 130, Fastify as 290 and yaml as 70: loading them was most of the time that
// agent-host needs to start. The build puts what agent-host uses of them into a few files beside its own code.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Files of the bundle by the name that the code imports. */
const FILES = {
  typebox: 'typebox.js',
  'typebox/compile': 'typebox-compile.js',
  'typebox/value': 'typebox-value.js',
  '@oclif/core': 'oclif.js',
  fastify: 'fastify.js',
  '@fastify/cors': 'fastify-cors.js',
  '@fastify/swagger': 'fastify-swagger.js',
  'secure-json-parse': 'secure-json-parse.js',
  yaml: 'yaml.js',
  pino: 'pino.js',
  chokidar: 'chokidar.js',
  graphql: 'graphql.js',
  'graphql-http': 'graphql-http.js',
}

/** Imported names of packages whose default export is not imported: a bundle of a CommonJS package would export that alone. */
const NAMES = {
  '@oclif/core': ['Args', 'Command', 'CommandHelp', 'Errors', 'Flags', 'Help', 'execute'],
  yaml: [
    ...['LineCounter', 'isAlias', 'isCollection', 'isMap', 'isNode', 'isScalar', 'isSeq'],
    ...['parse', 'parseDocument', 'visit'],
  ],
  pino: ['pino'],
  chokidar: ['watch'],
  graphql: ['buildSchema', 'GraphQLError', 'Lexer', 'Source', 'TokenKind', 'parse', 'validate'],
  'graphql-http': ['createHandler'],
}

/** Packages that are loaded late, or serve development alone. */
const EXTERNAL = ['light-my-request', 'ts-node', 'tsx', 'typescript']

/** Compiler of Fastify that turns schemas of answers into functions: with what it needs, half of Fastify's code. */
const SERIALIZER = '@fastify/fast-json-stringify-compiler'
const SERIALIZER_FILE = 'fastify-serializer.cjs'

/** Variables that every CommonJS file has. */
const COMMON_JS = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
const __dirname = import.meta.dirname`

const SETTINGS = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  // Names stay: stack traces and Fastify's list of plugins show them.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  // GraphQL then spends no time on looking for a second copy of itself.
  define: { 'process.env.NODE_ENV': '"production"' },
  metafile: true,
}

/**
 * Bundles the packages into `packages/`, and has the built code import them from there.
 *
 * @param {string} dist absolute path of the built code
 */
export async function bundlePackages(dist) {
  const folder = join(dist, 'packages')
  const main = await build({
    ...SETTINGS,
    entryPoints: Object.entries(FILES).map(([name, file]) => ({ in: `entry:${name}`, out: file.replace('.js', '') })),
    outdir: folder,
    plugins: [entries, lateCompilers],
    splitting: true,
    format: 'esm',
    banner: { js: COMMON_JS },
    external: [...EXTERNAL, `./${SERIALIZER_FILE}`],
  })
  const late = await build({
    ...SETTINGS,
    entryPoints: [fileURLToPath(import.meta.resolve(SERIALIZER))],
    outfile: join(folder, SERIALIZER_FILE),
    format: 'cjs',
  })
  const inputs = [main, late].flatMap(({ metafile }) => Object.keys(metafile.inputs))
  writeFileSync(join(folder, 'LICENSES.txt'), readLicenses(inputs))
  for (const file of readdirSync(dist, { recursive: true })) {
    if (file.endsWith('.js') && !/^(ui|packages)[\\/]/.test(file)) importFromBundles(dist, join(dist, file))
  }
}

/** Files that export what the code imports of each package. */
const entries = {
  name: 'entries',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^entry:/ }, ({ path }) => ({ path: path.slice('entry:'.length), namespace: 'entry' }))
    onLoad({ filter: /.*/, namespace: 'entry' }, ({ path }) => ({
      contents: exportsOf(path),
      resolveDir: dirname(fileURLToPath(import.meta.url)),
    }))
  },
}

/**
 * Fastify loads its compilers before the first route. The server sets a validator of its own, and the first answer with a schema is
 * early enough for its serializer.
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
      compile ??= require('./${SERIALIZER_FILE}')()(schemas, options)
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

function exportsOf(name) {
  if (name in NAMES) return `export { ${NAMES[name].join(', ')} } from '${name}'`
  const both = `export * from '${name}'; export { default } from '${name}'`
  return name.startsWith('typebox') ? both : `export { default } from '${name}'`
}

/** The licenses of all packages that these files come from. */
function readLicenses(files) {
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [])
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
    return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), 'utf8').trim() : ''}\n`
  })
  return texts.join('\n---\n\n')
}

function importFromBundles(dist, file) {
  const code = readFileSync(file, 'utf8')
  const imports =
    /(\bfrom |\bimport ?\(?)(['"])((?:typebox|@oclif|fastify|@fastify|secure-json-parse|yaml|pino|chokidar|graphql|graphql-http)(?:\/[\w/-]+)?)\2/g
  const changed = code.replace(imports, (_all, before, quote, name) => {
    if (!(name in FILES)) throw new Error(`${file} imports ${name}, which scripts/bundle-packages.js does not bundle`)
    const path = relative(dirname(file), join(dist, 'packages', FILES[name]))
      .split(sep)
      .join('/')
    return `${before}${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`
  })
  if (changed !== code) writeFileSync(file, changed)
}
