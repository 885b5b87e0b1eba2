import { raceAbort, withDeadline } from 'agent-host'
import { expect } from 'chai'
import { Opening } from '../src/async.ts'

const failure = (promise: Promise<unknown>) => promise.then(String, (error: Error) => error.message)

describe('raceAbort', () => {
  it('settles as the promise does, or fails with the reason of the signal', async () => {
    const controller = new AbortController()
    const never = raceAbort(new Promise(() => {}), controller.signal)
    expect(await raceAbort(Promise.resolve('done'), controller.signal)).equal('done')
    controller.abort(new Error('enough'))
    expect(await failure(never)).equal('enough')
  })

  it('handles the failure of a call that began after the signal aborted', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => void unhandled.push(error)
    // Instead of the listeners of the test runner.
    const others = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', note)
    const late = Promise.reject(new Error('late'))
    expect(await failure(raceAbort(late, AbortSignal.abort(new Error('enough'))))).equal('enough')
    await new Promise((resolve) => setTimeout(resolve, 5))
    process.removeListener('unhandledRejection', note)
    for (const other of others) process.on('unhandledRejection', other)
    expect(unhandled).deep.equal([])
  })
})

describe('withDeadline', () => {
  it('fails with the error of the caller when the promise takes longer', async () => {
    const late = () => new Error('too late')
    expect(await withDeadline(Promise.resolve('done'), 1000, late)).equal('done')
    expect(await failure(withDeadline(new Promise(() => {}), 1, late))).equal('too late')
  })
})

describe('an opening', () => {
  it('is shared by all who ask meanwhile, and begins again after a failure', async () => {
    const outcomes: (() => Promise<string>)[] = [
      () => Promise.reject(new Error('not yet')),
      () => Promise.resolve('open'),
      () => Promise.reject(new Error('nobody asks a third time')),
    ]
    const opening = new Opening(() => outcomes.shift()?.() ?? Promise.reject(new Error('asked too often')))
    expect(await opening.whenOpen()).equal(undefined)
    expect(await Promise.all([failure(opening.open()), failure(opening.open())])).deep.equal(['not yet', 'not yet'])
    expect(await Promise.all([opening.open(), opening.open(), opening.whenOpen()])).deep.equal(['open', 'open', 'open'])
    expect(opening.value).equal('open')
  })
})
