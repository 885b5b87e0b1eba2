import { LLM } from 'agent-host'
import { expect } from 'chai'
import type { AgentRun } from '../../../src/run/agent-run.ts'
import type { TapeLine } from '../../../src/tape/file/tape-lines.ts'
import { RunRecorder } from '../../../src/tape/recording/run-recorder.ts'

describe('RunRecorder', () => {
  it('knows the calls that are open when the stream of another is left after an abort', async () => {
    const abort = { isRequested: false }
    const run = { id: 'run', tenant: '', entryPoint: 'loop', waiting: { continues: null }, abort } as AgentRun
    const lines: TapeLine[] = []
    const recorder = new RunRecorder(run, { messages: [] }, { add: (line) => lines.push(line), end() {} })
    const place = { moduleId: 'llm', callerId: 'loop', protocol: LLM, isDeclared: true }
    recorder.call({}, () => new Promise(() => {}), 'generate', ['first'], place)
    const stream = recorder.call({}, () => new ReadableStream(), 'generate', ['second'], place)
    const reader = (stream as ReadableStream).getReader()
    const reading = reader.read()
    await new Promise(setImmediate)
    abort.isRequested = true
    await reader.cancel()
    await reading
    await new Promise(setImmediate)
    recorder.call({}, () => 'value', 'get', [], { ...place, moduleId: 'store', callerId: 'llm' })
    const withins = lines.flatMap((line) => (line.type === 'call' ? [line.within] : []))
    expect(withins).deep.equal([null, null, 1])
  })
})
