// The same files run from src/ (development, through a TypeScript loader) and from dist/ (installed).
const isSource = import.meta.url.endsWith('.ts')

/** Locations in the running installation of agent-host that a project may need. */
export const installation = Object.freeze({
  /** Module that `import 'agent-host'` resolves to in a project. */
  entry: new URL(isSource ? '../index.ts' : '../index.js', import.meta.url),
  /** The library's modules in a form that Node loads as it is. */
  library: new URL(isSource ? '../../modules/' : '../modules/', import.meta.url),
  libraryExtension: isSource ? '.ts' : '.js',
  /** Entries of the library's modules, as the build wrote them; from source there are none. */
  catalog: isSource ? undefined : new URL('../library-catalog.json', import.meta.url),
  /** esbuild's own code, which the build copies. */
  esbuild: isSource ? import.meta.resolve('esbuild') : new URL('../esbuild/lib/main.js', import.meta.url).href,
  /** The pages of the documentation. */
  docs: new URL('../../docs/', import.meta.url),
  /** The library's modules as they were written, to be copied. */
  sources: new URL('../../modules/', import.meta.url),
})
