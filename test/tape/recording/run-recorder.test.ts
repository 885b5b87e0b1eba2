import { LLM } from 'agent-host'
import { expect } from 'chai'
import { deferred } from '../../../src/async.ts'
import type { AgentRun } from '../../../src/run/agent-run.ts'
import type { TapeLine } from '../../../src/tape/file/tape-lines.ts'
import { RunRecorder } from '../../../src/tape/recording/run-recorder.ts'

const PLACE = { moduleId: 'llm', callerId: 'loop', protocol: LLM, isDeclared: true }

describe('RunRecorder', () => {
  const abort = { isRequested: false }
  const lines: TapeLine[] = []

  beforeEach(() => {
    abort.isRequested = false
    lines.length = 0
  })

  function record(): RunRecorder {
    const waiting = { continues: null, pending: [] }
    const run = { id: 'run', tenant: '', entryPoint: 'loop', waiting, abort } as unknown as AgentRun
    return new RunRecorder(run, { messages: [] }, { add: (line) => lines.push(line), end() {} })
  }

  const withins = () => lines.flatMap((line) => (line.type === 'call' ? [line.within] : []))

  it('knows which calls of a module are open, whichever of them ends first', async () => {
    const recorder = record()
    const [first, second] = [deferred<string>(), deferred<string>()]
    const calls = [first, second].map(({ promise }) => recorder.call({}, () => promise, 'generate', [], PLACE))
    const look = () => recorder.call({}, () => 'value', 'get', [], { ...PLACE, moduleId: 'store', callerId: 'llm' })
    first.resolve('one')
    await calls[0]
    look()
    second.resolve('two')
    await calls[1]
    look()
    expect(withins()).deep.equal([null, null, 2, null])
  })

  it('gives a call that an abort cuts off no end', async () => {
    const recorder = record()
    const failing = deferred<string>()
    const calls = [failing.promise, Promise.reject(new Error('before'))].map((promise) =>
      (recorder.call({}, () => promise, 'generate', [], PLACE) as Promise<unknown>).catch(String),
    )
    await calls[1]
    abort.isRequested = true
    failing.reject(new Error('aborted'))
    await Promise.all(calls)
    expect(lines.flatMap((line) => (line.type === 'result' ? [line.call] : []))).deep.equal([2])
  })

  it('knows the calls that are open when the stream of another is left after an abort', async () => {
    const recorder = record()
    recorder.call({}, () => new Promise(() => {}), 'generate', ['first'], PLACE)
    const stream = recorder.call({}, () => new ReadableStream(), 'generate', ['second'], PLACE)
    const reader = (stream as ReadableStream).getReader()
    const reading = reader.read()
    await new Promise(setImmediate)
    abort.isRequested = true
    await reader.cancel()
    await reading
    await new Promise(setImmediate)
    recorder.call({}, () => 'value', 'get', [], { ...PLACE, moduleId: 'store', callerId: 'llm' })
    expect(withins()).deep.equal([null, null, 1])
  })
})
