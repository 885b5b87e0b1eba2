import type { RunEvent, RunHandle, RunResult, Turn } from 'agent-host'
import { expect } from 'chai'
import { deferred } from '../../../src/async.ts'
import { startTaken } from '../../../src/durable/decisions/start-taken.ts'

const RESULT = { runId: 'r1', text: 'done' } as RunResult
const CALL = { type: 'tool_call', call: { id: 'c1', name: 'pay', arguments: {} } } as unknown as RunEvent
const TEXT = { type: 'text', text: 'Hm.' } as unknown as RunEvent

describe('a run that took decisions, and is not stored', () => {
  const log: string[] = []
  let spends: () => Promise<void>

  beforeEach(() => {
    log.length = 0
    spends = async () => void log.push('spent')
  })

  /** Starts one with a handler in the place of its agent. */
  function start(handle: (say: (event: RunEvent) => Promise<void>) => Promise<RunResult>, more: Partial<Turn> = {}) {
    const taken = { spend: () => spends(), giveBack: async () => void log.push('given back') }
    const begin = ({ onEvent, runId }: Turn): RunHandle => ({
      id: runId ?? 'r1',
      result: Promise.resolve().then(() => handle(async (event) => onEvent?.(event))),
      abort: (reason) => void log.push(`aborted: ${(reason as Error).message}`),
    })
    return startTaken(taken, begin)({ messages: [], ...more })
  }

  const failure = (work: Promise<unknown>) => work.then(String, ({ message }: Error) => message)

  it('spends them before its first call begins, once, and hands on its events', async () => {
    const heard: string[] = []
    const spending = deferred()
    spends = async () => {
      await spending.promise
      log.push('spent')
    }
    const { id, result } = start(
      async (say) => {
        await say(TEXT)
        const calls = [say(CALL), say(CALL)]
        spending.resolve()
        await Promise.all(calls)
        log.push('called')
        return RESULT
      },
      { runId: 'r2', onEvent: ({ type }) => void heard.push(type) },
    )
    expect([id, await result]).to.deep.equal(['r2', RESULT])
    expect(log.slice(0, 2)).to.deep.equal(['spent', 'called'])
    expect(log).to.not.include('given back')
    expect(heard).to.deep.equal(['text', 'tool_call', 'tool_call'])
  })

  it('forgets them when it ends well without a call', async () => {
    expect(await start(async () => RESULT).result).to.equal(RESULT)
    expect(log).to.deep.equal(['spent'])
  })

  it('ends well, too, where they cannot be forgotten any more', async () => {
    spends = () => Promise.reject(new Error('The store is away.'))
    expect(await start(async () => RESULT).result).to.equal(RESULT)
    expect(log).to.deep.equal([])
  })

  it('gives them back when it fails before a call', async () => {
    const { result } = start(async (say) => {
      await say(TEXT)
      throw new Error('no model')
    })
    expect(await failure(result)).to.equal('no model')
    expect(log).to.deep.equal(['given back'])
  })

  it('is aborted, and fails with the reason, where they cannot be spent: its agent cannot go on', async () => {
    spends = () => Promise.reject(new Error('Another server has given the decisions back.'))
    const { result } = start(async (say) => {
      const refused = [await failure(say(CALL)), await failure(say(CALL))]
      log.push(...refused)
      throw new Error('no call works')
    })
    expect(await failure(result)).to.equal('Another server has given the decisions back.')
    const reason = 'Another server has given the decisions back.'
    expect(log).to.deep.equal([`aborted: ${reason}`, `aborted: ${reason}`, reason, reason, 'given back'])
  })

  it('passes on an abort', () => {
    start(() => new Promise(() => {})).abort(new Error('enough'))
    expect(log).to.deep.equal(['aborted: enough'])
  })
})
