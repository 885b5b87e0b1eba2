import { expect } from 'chai'
import fastify from 'fastify'
import { nameSlow, onStart } from '../../src/server/on-start.ts'

describe('onStart', () => {
  it('names the part that a server waited for in vain', async () => {
    const app = fastify({ pluginTimeout: 550 })
    onStart(app, 'The store', () => new Promise(() => {}))
    expect(await failureOf(app.ready())).to.equal(
      'The store was not ready within 0.05 s, so the server did not start. Start it again.',
    )
  })

  it('waits as long as it takes where the app has no limit, and passes on what fails', async () => {
    const app = fastify({ pluginTimeout: 0 })
    const done: string[] = []
    onStart(app, 'The store', async () => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      done.push('store')
    })
    await app.ready()
    expect(done).to.deep.equal(['store'])
    const failing = fastify()
    onStart(failing, 'The store', () => Promise.reject(new Error('the disk is full')))
    expect(await failureOf(failing.ready())).to.equal('the disk is full')
  })
})

describe('nameSlow', () => {
  it('names a part once in the log while it is waited for, and no part that is ready in time', async () => {
    const lines: string[] = []
    const log = { warn: (line: string) => void lines.push(line) }
    const take = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms, 'ready'))
    expect(await nameSlow(log, 'The store', take(60), 20)).to.equal('ready')
    expect(await nameSlow(log, 'The adapter', take(1), 20)).to.equal('ready')
    await take(40)
    expect(lines).to.deep.equal(['The store is not ready after 0.02 s. The server starts as soon as it is.'])
  })
})

/** Message that a promise fails with. */
function failureOf(promise: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(promise).then(
    () => 'no failure',
    (error: Error) => error.message,
  )
}
