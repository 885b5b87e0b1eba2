import { fileURLToPath } from 'node:url'

const isSource = import.meta.url.endsWith('.ts')
let script: Promise<URL> | undefined

/** Returns the script of the thread that keeps the traces. From source it is compiled once for all servers of the process. */
export function findTraceScript(): Promise<URL> {
  script ??= isSource ? compile() : Promise.resolve(new URL('./trace-service.js', import.meta.url))
  return script
}

/** Bundles the sources of the thread into one script, which starts faster than through the TypeScript loader. */
async function compile(): Promise<URL> {
  const { buildSync } = await import('esbuild')
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL('./trace-service.ts', import.meta.url))],
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
