// @ts-check
// Where the thread of the traces begins. It is JavaScript because a thread starts without the loader with which the sources
// run in development.
import { fileURLToPath } from 'node:url'
import { workerData } from 'node:worker_threads'

/** @import { TraceThreadData } from './worker-messages.ts' */

const data = /** @type {TraceThreadData} */ (workerData)
const { serveTraces } = await import(data.service.endsWith('.ts') ? await compile(data.service) : data.service)
serveTraces(data)

/**
 * Compiles the sources of the thread into one script: in development, where a loader would take longer than all the rest.
 *
 * @param {string} service URL of a TypeScript file
 * @returns {Promise<string>} URL of the script
 */
async function compile(service) {
  const { buildSync } = await import('esbuild')
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(service)],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    // A script without a file finds no package by its name.
    alias: { libsql: import.meta.resolve('libsql') },
    external: ['file:*'],
  })
  return `data:text/javascript;base64,${Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')}`
}
