import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { foldStack } from '../../../src/run/calls/fold-stack.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'

const OWN = fileURLToPath(new URL('../../../src/run/agent/agent.ts', import.meta.url))
const LIBRARY = fileURLToPath(new URL('../../../modules/echo.ts', import.meta.url))

describe('foldStack', () => {
  it('keeps the message and the frames of the project, relative to it, and counts the others', () => {
    const stack = `Error: no luck
second line
    at execute (/p/tools/orders.ts:24:23)
    at file:///p/lib/x.ts:1:2
    at Object.f (/p/node_modules/pkg/index.js:1:1)
    at async Promise.all (index 0)
    at f (${OWN}:42:51)
    at file://${LIBRARY}:42:51
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)`
    const message = 'Error: no luck\nsecond line'
    expect(foldStack(stack, { projectDir: '/p' })).equal(
      `${message}\n    at execute (tools/orders.ts:24:23)\n    at lib/x.ts:1:2\n    +5 internal frames`,
    )
    expect(foldStack(stack)).contain('    at execute (/p/tools/orders.ts:24:23)\n    at /p/lib/x.ts:1:2\n')
  })

  it('counts the frames of another machine, which name no file here', () => {
    const stack = 'Error: no luck\n    at f (file://host/x.js:1:2)\n    at file:///a%2Fb.js:1:2'
    expect(foldStack(stack, { platform: 'linux' })).equal('Error: no luck (+2 internal frames)')
    const linux = 'Error: no luck\n    at f (file:///srv/x.mjs:1:2)'
    expect(foldStack(linux, { platform: 'win32' })).equal('Error: no luck (+1 internal frame)')
  })

  it('is one line where no frame is of the project, without causes that say the same again', () => {
    const stack = `Error: Wrong key [redacted] (status 401)
    at node:internal/a:1:1
Caused by: Error: Wrong key sk-1***.
    at node:internal/a:1:1
Caused by: APICallError: Wrong key sk-1***
    at node:internal/b:1:1
Caused by: TypeError: socket closed
    at node:internal/c:1:1`
    expect(foldStack(stack)).equal(
      'Error: Wrong key [redacted] (status 401)\nCaused by: TypeError: socket closed (+4 internal frames)',
    )
    expect(foldStack('Error: x\n    at node:internal/a:1:1')).equal('Error: x (+1 internal frame)')
    expect(foldStack('plain')).equal('plain')
  })

  it('leaves out that a request was aborted where the error above names the limit', () => {
    const aborted = 'AbortError: This operation was aborted\n    at node:internal/a:1:1'
    expect(foldStack(`Error: Silent for 2 s.\nCaused by: ${aborted}`)).equal(
      'Error: Silent for 2 s. (+1 internal frame)',
    )
    expect(foldStack(aborted)).equal('AbortError: This operation was aborted (+1 internal frame)')
  })

  it('leaves out an error of a vendor, as it came within a stream, whose reason the error above tells', () => {
    const sent = (message: string) => `Caused by: {"type":"overloaded_error","message":"${message}"}`
    expect(foldStack(`Error: The stream broke off: Overloaded\n${sent('Overloaded')}`)).equal(
      'Error: The stream broke off: Overloaded',
    )
    expect(foldStack(`Error: The stream broke off\n${sent('Overloaded')}`)).contain(sent('Overloaded'))
    expect(foldStack('Error: x\nCaused by: {"message":')).equal('Error: x\nCaused by: {"message":')
  })

  it('takes no time for a message that a model has filled', () => {
    const frame = '\n    at node:internal/process/task_queues:105:5'
    const spentMs = measureCpuTime()
    for (const filling of ['x', '.', '\n', ' at (', '*', '-']) {
      const text = `Error: ${filling.repeat(100_000 / filling.length)}!`
      expect(foldStack(text + frame)).equal(`${text} (+1 internal frame)`)
    }
    expect(spentMs()).below(1000)
  })

  it('takes no time for lines and causes that a vendor has made up', () => {
    const spentMs = measureCpuTime()
    const line = `    at${' ('.repeat(2040)}x`
    expect(foldStack(`Error: x${`\nno\n${line}`.repeat(1000)}`)).match(/no \(\+1000 internal frames\)$/)
    const causes = Array.from({ length: 60_000 }, (_, index) => `\nCaused by: ${index}.`)
    expect(foldStack(`Error: x${causes.join('')}`)).equal(`Error: x${causes.join('')}`)
    expect(spentMs()).below(1000)
  })

  it('understands Windows paths', () => {
    const stack =
      'Error: x\n    at execute (C:\\p\\tools\\orders.ts:24:23)\n    at file:///C:/p/lib/x.ts:1:2\n    at D:\\p\\node_modules\\a.js:1:1'
    const shown = 'Error: x\n    at execute (tools/orders.ts:24:23)\n    at lib/x.ts:1:2\n    +1 internal frame'
    expect(foldStack(stack, { projectDir: 'C:\\p', platform: 'win32' })).equal(shown)
  })
})
