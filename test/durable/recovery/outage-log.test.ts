import { expect } from 'chai'
import { OutageLog } from '../../../src/durable/recovery/outage-log.ts'
import { HostError } from '../../../src/errors.ts'
import { silentLog } from '../../../src/protocols/log.ts'

describe('the log of outages of the store', () => {
  it('tells each once, and its end', () => {
    const lines: string[] = []
    const note = (line: string) => void lines.push(line.replace(/[\d.]+ m?s/, 'N ms'))
    const outages = new OutageLog({ ...silentLog, error: note, info: note })
    const failure = new HostError('STORE_UNAVAILABLE', 'The store of responses failed: connect ECONNREFUSED')
    outages.end()
    expect([outages.note(failure), outages.note(failure), outages.note(new Error('another'))]).deep.equal([
      true,
      true,
      false,
    ])
    outages.end()
    outages.end()
    expect(outages.note(failure)).equal(true)
    const began = `${failure.message}. Background responses and approvals wait until it can be used again.`
    expect(lines).deep.equal([began, 'The store of responses can be used again, after N ms.', began])
  })
})
