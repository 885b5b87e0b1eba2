// read-trace.js <dir> <query>: measures one query of a trace in a fresh process.
import { TraceReader } from '../build/trace/trace-reader.js'

const [, , dir = '', question = ''] = process.argv
const before = process.memoryUsage().rss
const startedMs = performance.now()
const reader = new TraceReader(dir, Number.POSITIVE_INFINITY)
while (reader.step());
const run = (text) => reader.index.runs.list({ filter: { text }, first: 50, after: undefined }).runs
switch (question) {
  case 'runs':
    run(undefined)
    break
  case 'text':
    run('no run says this')
    break
  case 'events': {
    const [first] = reader.index.runs.like('run-777', 1)
    if (reader.events({ runId: first?.run_id ?? '', after: -1, first: 1000 }).events.length !== 4)
      throw new Error('The run has not its events.')
    break
  }
  case 'log':
    if (reader.log({ agentId: 'echo', limit: 1000 }).lines.length !== 1000) throw new Error('There are fewer events.')
    break
}
const answer = { ms: performance.now() - startedMs, rssMb: (process.memoryUsage().rss - before) / 1024 ** 2 }
reader.close()
process.send?.(answer, () => process.disconnect?.())
