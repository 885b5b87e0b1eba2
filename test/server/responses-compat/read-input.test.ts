import { expect } from 'chai'
import { readInput } from '../../../src/server/adapters/responses-compat/input/read-input.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'

/** CPU time that a function takes, in milliseconds. */
function timeOf(work: () => unknown): number {
  const spentMs = measureCpuTime()
  work()
  return spentMs()
}

describe('readInput', () => {
  const at = { id: 'msg_1', created_at: 0 }
  const user = (content: object[]) => ({ ...at, type: 'message', role: 'user', content: content as { type: string }[] })

  it('takes time linear in the number of consecutive calls', () => {
    const call = (n: number) => ({ ...at, type: 'function_call', call_id: `c${n}`, name: 'f', arguments: '{}' })
    const calls = Array.from({ length: 100_000 }, (_, n) => call(n))
    expect(timeOf(() => readInput([...calls, user([])]))).to.be.below(2000)
    const [first] = readInput(calls.slice(0, 3)).messages
    expect(first).to.have.property('toolCalls').with.lengthOf(3)
  })

  it('keeps the detail of a picture, if it is one that models know', () => {
    const image = (detail: unknown) => ({ type: 'input_image', image_url: 'https://x.y/z.png', detail })
    const { messages } = readInput([user(['low', null, 'grand', 7].map(image))])
    const [message] = messages as readonly { attachments?: readonly { detail?: string }[] }[]
    expect(message?.attachments?.map(({ detail }) => detail)).to.deep.equal(['low', undefined, undefined, undefined])
  })

  it('skips unreadable parts of earlier messages quickly', () => {
    const odd = Array.from({ length: 500_000 }, () => ({ type: 'odd' }))
    const limit = Error.stackTraceLimit
    const handled = user([{ type: 'input_text', text: 'hi' }])
    expect(timeOf(() => readInput([user([...odd, { type: 'input_image', image_url: 5 }]), handled]))).to.be.below(2000)
    expect(Error.stackTraceLimit).to.equal(limit)
  })
})
