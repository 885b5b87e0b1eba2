import { expect } from 'chai'
import { projectStack } from '../../../src/run/calls/project-stack.ts'

describe('projectStack', () => {
  it('keeps the message and the frames of the project, relative to it', () => {
    const stack = `Error: no luck
second line
    at execute (/p/tools/orders.ts:24:23)
    at file:///p/lib/x.ts:1:2
    at Object.f (/p/node_modules/pkg/index.js:1:1)
    at file:///usr/lib/agent-host/dist/a.js:42:51
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)`
    expect(projectStack(stack, '/p')).equal(
      'Error: no luck\nsecond line\n    at execute (tools/orders.ts:24:23)\n    at lib/x.ts:1:2',
    )
  })

  it('understands Windows paths', () => {
    const stack =
      'Error: x\n    at execute (C:\\p\\tools\\orders.ts:24:23)\n    at file:///C:/p/lib/x.ts:1:2\n    at D:\\a.js:1:1'
    const shown = 'Error: x\n    at execute (tools/orders.ts:24:23)\n    at lib/x.ts:1:2'
    expect(projectStack(stack, 'C:\\p', 'win32')).equal(shown)
  })

  it('does not change a stack without such frames', () => {
    const stack = 'Error: x\n    at node:internal/a:1:1'
    expect(projectStack(stack, '/p')).equal(stack)
    expect(projectStack('plain', '/p')).equal('plain')
  })
})
