// @ts-check
// Where the thread of the traces begins. It is JavaScript because a thread starts without the loader with which the sources
// run in development.
import { workerData } from 'node:worker_threads'

/** @import { TraceThreadData } from './worker-messages.ts' */

const data = /** @type {TraceThreadData} */ (workerData)
if (data.service.endsWith('.ts')) {
  const { register } = await import('tsx/esm/api')
  register()
}
const { serveTraces } = await import(data.service)
serveTraces(data)
