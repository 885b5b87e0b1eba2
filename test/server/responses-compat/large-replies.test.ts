import { Writable } from 'node:stream'
import { expect } from 'chai'
import type { StoredRun } from '../../../src/durable/runs/run-store.ts'
import { LargeReplies } from '../../../src/server/adapters/responses-compat/runs/large-replies.ts'

const MIB = 1024 * 1024
const reply = () => ({ raw: new Writable(), type() {} })

/** Turns of the event loop in which promises resolve. */
async function turnsOf(promises: readonly Promise<unknown>[]): Promise<number[]> {
  let turn = 0
  let isOver = false
  const count = () => {
    turn++
    if (!isOver) setImmediate(count)
  }
  count()
  const turns = await Promise.all(promises.map((each) => each.then(() => turn)))
  isOver = true
  return turns
}

describe('replies from the store', () => {
  const DOORS: Readonly<
    Record<string, (replies: LargeReplies, length: number, read: Promise<unknown>) => Promise<unknown>>
  > = {
    'a page': (replies, length, read) => replies.readPage(reply(), () => read.then(() => 'x'.repeat(length))),
    'a response': (replies, length, read) =>
      replies.readResponse(reply(), false, 'resp_1', () => read.then(() => ({ largeLength: length }) as StoredRun)),
    'a stream': (replies, length, read) =>
      replies.readResponse(reply(), true, 'resp_1', () => read.then(() => ({ largeLength: length }) as StoredRun)),
  }
  it('of many large entries are written entry by entry, as JSON', async () => {
    const types: string[] = []
    const answering = { raw: new Writable(), type: (mediaType: string) => types.push(mediaType) }
    const page = { object: 'list', data: ['x', 'é"'].map((char) => ({ text: char.repeat(MIB) })), has_more: false }
    const small = { ...page, data: [{ text: 'x' }] }
    const replies = new LargeReplies(256)
    expect(await replies.readPage(answering, async () => small)).to.equal(small)
    const written = await replies.readPage(answering, async () => page)
    expect(Buffer.isBuffer(written) && JSON.parse(written.toString())).to.deep.equal(page)
    expect(types).to.deep.equal(['application/json; charset=utf-8'])
  })

  for (const [name, door] of Object.entries(DOORS)) {
    it(`that are large go on one in a turn of the event loop, also where they share a read: ${name}`, async () => {
      const replies = new LargeReplies(256)
      const shared = new Promise((resolve) => setTimeout(resolve, 1))
      const turns = await turnsOf(Array.from({ length: 5 }, () => door(replies, MIB, shared)))
      expect(new Set(turns).size).to.equal(5)
    })

    it(`that are small wait for no turn: ${name}`, async () => {
      const replies = new LargeReplies(256)
      const shared = new Promise((resolve) => setTimeout(resolve, 1))
      const turns = await turnsOf(Array.from({ length: 5 }, () => door(replies, 1000, shared)))
      expect(new Set(turns).size).to.equal(1)
    })
  }
})
