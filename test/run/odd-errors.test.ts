import { AgentHost, defineModule, TextMessageHandler } from 'agent-host'
import { expect } from 'chai'
import { ATTACH } from '../../src/host/host.ts'

function inCircle(): Error {
  const outer: Error = new Error('outer', { cause: new Error('inner') })
  ;(outer.cause as Error).cause = outer
  return outer
}

function ofItself(): Error {
  const error = new Error('itself')
  error.cause = error
  return error
}

function amongItself(): Error {
  const error = new AggregateError([], 'all')
  error.errors.push(error, error)
  return error
}

function unreadable(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const ODD_ERRORS: Readonly<Record<string, readonly [thrown: () => unknown, message: string]>> = {
  'is its own cause': [ofItself, 'itself'],
  'is the cause of its cause': [inCircle, 'outer'],
  'is one of several that it stands for': [amongItself, 'all'],
}

describe('the run of an error that', () => {
  let host: AgentHost
  beforeEach(() => {
    host = new AgentHost()
  })
  afterEach(() => host.close(0))

  async function failureOf(handleText: () => Promise<void>): Promise<unknown> {
    const module = defineModule({ name: 'Odd', provides: [TextMessageHandler], create: () => ({ handleText }) })
    await host.register({ id: 'odd', modules: [{ id: 'odd', module }] })
    return host.run('odd', 'hi').catch((error) => [error.code, error.message])
  }

  for (const [title, [thrown, message]] of Object.entries(ODD_ERRORS))
    for (const isWatched of [false, true])
      it(`${title} fails${isWatched ? ', and so does its call, for a listener' : ''}`, async () => {
        const closed: unknown[] = []
        if (isWatched) host.onEvent(({ event_type: type }) => void (type === 'exception' && closed.push(type)))
        const failure = await failureOf(async () => {
          throw thrown()
        })
        expect(failure).to.deep.equal(['AGENT_FAILED', message])
        expect([closed, host.runningCount]).to.deep.equal([isWatched ? ['exception'] : [], 0])
      })

  it('cannot be read fails', async () => {
    const failure = await failureOf(async () => {
      throw unreadable()
    })
    expect(failure).to.deep.equal(['AGENT_FAILED', 'object that has no JSON'])
  })

  it('comes before its agent has begun fails, and is over', async () => {
    const begin = () => {
      throw new RangeError('Invalid string length')
    }
    host[ATTACH]({ begin, attach: (provider) => provider })
    expect(await failureOf(async () => {})).to.deep.equal(['AGENT_FAILED', 'Invalid string length'])
    expect(host.runningCount).to.equal(0)
    expect(host.abortAllOf('', '')).to.deep.equal([])
  })
})
