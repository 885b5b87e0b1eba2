import { fileURLToPath } from 'node:url'

const isSource = import.meta.url.endsWith('.ts')
const compiled = new Map<string, Promise<URL>>()

/**
 * Returns the script of a thread. From source it is compiled once for all servers of the process.
 *
 * @param script without its extension
 */
export function findThreadScript(script: URL): Promise<URL> {
  if (!isSource) return Promise.resolve(new URL(`${script.href}.js`))
  const known = compiled.get(script.href) ?? compile(`${script.href}.ts`)
  compiled.set(script.href, known)
  return known
}

/** Bundles the sources of the thread into one script, which starts faster than through the TypeScript loader. */
async function compile(source: string): Promise<URL> {
  const { buildSync } = await import('esbuild')
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(source)],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    // A script without a file finds no package by its name.
    alias: { libsql: import.meta.resolve('libsql') },
    external: ['file:*'],
  })
  return new URL(`data:text/javascript;base64,${Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')}`)
}
