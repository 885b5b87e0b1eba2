// The declarations of agent-host name types of packages that are bundled, so that they are not installed: theirs are shipped, too.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const packages = join(root, 'node_modules')
const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const installed = { ...dependencies, ...peerDependencies }

const IMPORT = /(\bfrom |\bimport ?\()(['"])([^'"]+)\2/g

/**
 * Copies what the public declarations need into `types/<package>`, and has them import it from there. Declarations that the public ones do not
 * need are removed.
 *
 * @param {string} dist absolute path of the built code
 */
export function shipTypes(dist) {
  const own = readdirSync(dist, { recursive: true }).filter((file) => file.endsWith('.d.ts'))
  const shipped = new Set()
  const left = [join(dist, 'index.d.ts')]
  for (let source = left.pop(); source; source = left.pop()) {
    const file = placeOf(source, dist)
    if (shipped.has(file)) continue
    shipped.add(file)
    const code = readFileSync(source, 'utf8').replace(IMPORT, (all, before, quote, specifier) => {
      const target = findDeclaration(specifier, source)
      if (!target) return all
      left.push(target)
      const isNear = specifier.startsWith('.')
      return isNear ? all : `${before}${quote}${specifierOf(placeOf(target, dist), file)}${quote}`
    })
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, code)
    describePackage(source, dist)
  }
  for (const file of own) if (!shipped.has(join(dist, file))) rmSync(join(dist, file))
}

/** Returns the file that an import means; undefined for a package that users have, and for Node's own. */
function findDeclaration(specifier, source) {
  if (specifier.startsWith('.')) return declarationAt(join(dirname(source), specifier))
  const name = /^(@[^/]+\/)?[^/]+/.exec(specifier)[0]
  const folder = name in installed ? undefined : findPackage(name, dirname(source))
  if (!folder) return undefined
  const { types, exports } = readPackage(folder)
  const entry = exports?.[`.${specifier.slice(name.length)}`]?.import ?? types ?? 'index'
  return declarationAt(join(folder, entry))
}

function findPackage(name, dir) {
  const folder = join(dir, 'node_modules', name)
  if (existsSync(folder)) return folder
  return dir === root ? undefined : findPackage(name, dirname(dir))
}

function declarationAt(path) {
  const bare = path.replace(/(\.d)?\.([cm]?)[jt]s$/, '')
  const candidates = [`${bare}.d.ts`, `${bare}.d.mts`, join(path, 'index.d.ts')]
  return candidates.find((candidate) => existsSync(candidate) && statSync(candidate).isFile())
}

function placeOf(source, dist) {
  if (!source.startsWith(packages)) return source
  // npm leaves out folders of that name.
  return join(dist, 'types', relative(packages, source).replaceAll(`${sep}node_modules${sep}`, sep))
}

function specifierOf(target, file) {
  const path = relative(dirname(file), target).split(sep).join('/')
  const code = path.replace(/\.d\.(m?)ts$/, '.$1js')
  return code.startsWith('.') ? code : `./${code}`
}

/** Names the package that a declaration comes from: its `type` decides which files are CommonJS. */
function describePackage(source, dist) {
  if (!source.startsWith(packages)) return
  const [folder] = /^.*node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+/.exec(source)
  const { name, version, license, type = 'commonjs' } = readPackage(folder)
  writeFileSync(join(placeOf(folder, dist), 'package.json'), JSON.stringify({ name, version, license, type }))
}

function readPackage(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}
