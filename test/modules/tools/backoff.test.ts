import { expect } from 'chai'
import { Backoff } from '../../../modules/tools/lib/backoff.ts'

describe('pauses between attempts', () => {
  it('are kept by one attempt, however many failures ask for it', async () => {
    const closing = new AbortController()
    const backoff = new Backoff(closing.signal)
    let attempts = 0
    for (let count = 0; count < 5; count++) backoff.later(async () => attempts++)
    await new Promise<void>((resolve) => new Backoff(closing.signal).later(async () => resolve()))
    expect(attempts).to.equal(1)
    await new Promise<void>((resolve) => backoff.later(async () => resolve()))
    closing.abort()
  })
})
