// Preloaded into agent-host.js: counts what requests run, and answers `count` with what was counted since the last time,
// and `idle` once nothing is under way.
import { createHook } from 'node:async_hooks'
import { Session } from 'node:inspector'
import { Worker } from 'node:worker_threads'

/** Turns of the event loop without any work, after which a server is idle. */
const IDLE_TURNS = 20
const LONGEST_MS = 2 ** 31 - 1

const session = new Session()
session.connect()
const profiler = (method, options) => {
  let answer
  // Answers before it returns.
  session.post(`Profiler.${method}`, options, (_error, result) => {
    answer = result
  })
  return answer
}
profiler('enable')
profiler('startPreciseCoverage', { callCount: true, detailed: false })

// What a server does now and then belongs to no request, and on a slow machine would be counted with many.
const { setInterval } = globalThis
globalThis.setInterval = (work, _delayMs, ...values) => setInterval(work, LONGEST_MS, ...values)

let promises = 0
const countPromise = (_id, type) => {
  if (type === 'PROMISE') promises++
}
createHook({ init: countPromise }).enable()

let jobs = []
let pending = 0
const workers = new WeakSet()
const { postMessage } = Worker.prototype
/** The thread of the store gets lists of jobs, and answers each list once. */
Worker.prototype.postMessage = function (message, ...others) {
  if (Array.isArray(message)) {
    if (!workers.has(this)) this.on('message', ({ answers }) => answers && pending--)
    workers.add(this)
    pending++
    jobs.push(...message)
  }
  return postMessage.call(this, message, ...others)
}

let usedBefore = 0
process.on('message', (question) => {
  if (question === 'idle') whenIdle(() => process.send('idle'))
  if (question === 'count') answer()
})

/** Without a promise, which would be counted. */
function whenIdle(then, turns = IDLE_TURNS, promisesBefore = promises) {
  if (turns === 0) then()
  else if (pending > 0 || promises > promisesBefore) setImmediate(() => whenIdle(then))
  else setImmediate(() => whenIdle(then, turns - 1, promisesBefore))
}

function answer() {
  const bytes = process.memoryUsage().heapUsed - usedBefore
  const dist = new URL('.', process.env.BENCH_DIST).href
  const functions = profiler('takePreciseCoverage').result.flatMap(({ url, functions }) =>
    url.startsWith(dist) ? functions.flatMap((each) => toCalled(url.slice(dist.length), each)) : [],
  )
  const commits = jobs.filter(({ kind }) => kind === 'commit').length
  process.send({ functions, promises, bytes, commits, read: readKeys() })
  promises = 0
  jobs = []
  globalThis.gc()
  usedBefore = process.memoryUsage().heapUsed
}

function toCalled(path, { functionName: name, ranges: [{ startOffset: start, endOffset: end, count: calls }] }) {
  return calls > 0 ? [{ path, name, start, end, calls }] : []
}

/** Keys of records, and beginnings of ranges. */
function readKeys() {
  const keys = jobs.flatMap(({ kind, keys, from = [] }) => (kind === 'commit' ? [] : (keys ?? from)))
  return keys.map((key) => key.replace(/^keyv:/, ''))
}
