import { EventEmitter } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import type { FastifyReply } from 'fastify'
import { EventStreams } from '../../../src/server/streams/event-streams.ts'
import { eventually } from '../../support/eventually.ts'

/** A connection that takes nothing until it is told to. */
class StuckConnection extends EventEmitter {
  readonly written: string[] = []
  writableLength = 0
  destroyed = false
  writeHead(): void {}
  write(text: string): boolean {
    this.written.push(text)
    this.writableLength += text.length
    return false
  }
  end(text: string): void {
    this.written.push(text)
    this.emit('close')
  }
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

function openStream(connection: StuckConnection, onLeave = () => {}) {
  const reply = { raw: connection, hijack() {}, headers: () => reply, getHeaders: () => ({}) }
  const streams = new EventStreams()
  const options = { keepAlive: () => ': alive\n\n', keepAliveMs: 1000, onLeave }
  return { streams, stream: streams.open(reply as object as FastifyReply, options) }
}

describe('an event stream', () => {
  it('writes all events of one event loop turn at once, each whole', async () => {
    const connection = new StuckConnection()
    const { stream } = openStream(connection)
    stream.send('data: 1\n\n')
    await Promise.resolve()
    stream.send('data: 2\n\n')
    expect(connection.written).to.deep.equal([])
    await setImmediate()
    expect(connection.written).to.deep.equal(['data: 1\n\ndata: 2\n\n'])
  })

  it('makes the sender wait for room, and rejects more than 1 MiB meanwhile', async () => {
    const connection = new StuckConnection()
    const { stream } = openStream(connection)
    const waiting = stream.send('x'.repeat(100_000))
    let hasRoom = false
    void Promise.resolve(waiting).then(() => {
      hasRoom = true
    })
    await setImmediate()
    expect(hasRoom).to.equal(false)
    stream.send('x'.repeat(1_000_000))
    expect(() => stream.send('more')).to.throw(
      'The client reads more slowly than the agent responds: await respondText.',
    )
    connection.writableLength = 0
    connection.emit('drain')
    await setImmediate()
    expect(hasRoom).to.equal(true)
    stream.send('more')
  })

  it('keeps a connection open between events, and never within one', async () => {
    const connection = new StuckConnection()
    connection.write = (text) => connection.written.push(text) > 0
    const { stream } = openStream(connection)
    for (const piece of ['data: 1', '23', '\n\n']) {
      stream.send(piece)
      await setImmediate()
      stream.tick(performance.now() + 2000)
    }
    expect(connection.written).to.deep.equal(['data: 1', '23', '\n\n', ': alive\n\n'])
  })

  it('keeps a connection open after a piece that says nothing, and never within an event', async () => {
    const connection = new StuckConnection()
    connection.write = (text) => connection.written.push(text) > 0
    const { stream } = openStream(connection)
    for (const piece of ['data: 1\n\n', '', 'data: 2', '', '\n\n']) {
      stream.send(piece)
      await setImmediate()
      if (piece === '') stream.tick(performance.now() + 2000)
    }
    expect(connection.written).to.deep.equal(['data: 1\n\n', ': alive\n\n', 'data: 2', '\n\n'])
  })

  it('calls back after a wait that was not ended, once', async () => {
    const streams = new EventStreams()
    let [late, ended, next] = [0, 0, 0]
    streams.after(0, () => late++)
    streams.after(0, () => ended++)()
    await eventually(() => expect(late).to.equal(1))
    streams.after(0, () => next++)
    await eventually(() => expect(next).to.equal(1))
    expect([late, ended]).to.deep.equal([1, 0])
  })

  it('disconnects a reader that was blocked for 30 seconds, and reports it', async () => {
    const connection = new StuckConnection()
    let left = 0
    const { stream, streams } = openStream(connection, () => left++)
    stream.send('data: 1\n\n')
    await setImmediate()
    stream.tick(performance.now() + 29_000)
    expect([connection.destroyed, left]).to.deep.equal([false, 0])
    stream.tick(performance.now() + 31_000)
    expect([connection.destroyed, left, streams.size]).to.deep.equal([true, 1, 0])
  })

  it('does not report a disconnect after its end', () => {
    const connection = new StuckConnection()
    let left = 0
    const { stream } = openStream(connection, () => left++)
    stream.end('data: last\n\n')
    stream.send('too late')
    expect([connection.written, left]).to.deep.equal([['data: last\n\n'], 0])
  })

  it('reports a client that left before it was opened', async () => {
    const connection = new StuckConnection()
    connection.destroyed = true
    let left = 0
    const { stream, streams } = openStream(connection, () => left++)
    await setImmediate()
    expect([stream.isOpen, left, streams.size]).to.deep.equal([false, 1, 0])
  })
})
