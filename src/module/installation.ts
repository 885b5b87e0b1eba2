// The same files run from src/ (development, through a TypeScript loader) and from dist/ (installed).
const isSource = import.meta.url.endsWith('.ts')

/** Where the running installation of agent-host has what a project may need from it. */
export const installation = Object.freeze({
  /** What `import 'agent-host'` means in a project. */
  entry: new URL(isSource ? '../index.ts' : '../index.js', import.meta.url),
  /** The library's modules in a form that Node loads as it is. */
  library: new URL(isSource ? '../../modules/' : '../modules/', import.meta.url),
  libraryExtension: isSource ? '.ts' : '.js',
  /** The library's modules as they were written, to be copied. */
  sources: new URL('../../modules/', import.meta.url),
})
