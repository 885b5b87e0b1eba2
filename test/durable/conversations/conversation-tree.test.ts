import { expect } from 'chai'
import { ConversationStore } from '../../../src/durable/conversations/conversation-store.ts'
import {
  type LoadedConversation,
  linkChanges,
  loadConversation,
  loadTurn,
  makeTurn,
  type StoredTurn,
  turnChange,
} from '../../../src/durable/conversations/conversation-tree.ts'
import { HistoryBudget } from '../../../src/durable/conversations/history-budget.ts'
import { withoutRemoved } from '../../../src/durable/conversations/without-removed.ts'
import { SeenRecords } from '../../../src/durable/rows/seen-records.ts'
import { KeyvStore } from '../../../src/store/keyv/keyv-store.ts'

const MIB = 1024 * 1024
const LIMITS = { maxHistoryItems: 10_000, maxHistoryMb: 2, maxHistoryTurns: 1000 }

/** Counts the characters that are read, in all and at once, and the requests for them. */
function countReads(store: KeyvStore) {
  let [all, most, requests] = [0, 0, 0]
  const count = (texts: readonly (string | undefined)[]) => {
    const length = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0)
    all += length
    requests++
    most = Math.max(most, length)
  }
  const { get, entries } = { get: store.get.bind(store), entries: store.entries.bind(store) }
  store.get = async (keys) => {
    const texts = await get(keys)
    count(texts)
    return texts
  }
  store.entries = async (range) => {
    const found = await entries(range)
    count(found.map(([, text]) => text))
    return found
  }
  return { readBytes: () => all, readAtOnce: () => most, requests: () => requests }
}

describe('a stored conversation', () => {
  /** A store that holds turns which continue each other, and counts what is read. */
  async function storeOf(turns: number, bytes: number) {
    const store = await KeyvStore.open(new Map())
    let last: StoredTurn | undefined
    for (let n = 1; n <= turns; n++) {
      last = makeTurn(`r${n}`, n, [{ role: 'user', content: `${n} ${'x'.repeat(bytes)}` }], last)
      await store.commit([turnChange(last), ...linkChanges(last)])
    }
    return { store, ...countReads(store) }
  }

  const numbersOf = (messages: readonly { readonly content: string }[] = []) =>
    messages.map(({ content }) => Number.parseInt(content, 10))

  it('is read over all its blocks, oldest first', async () => {
    const { store } = await storeOf(70, 10)
    for (const last of [1, 2, 5, 31, 32, 33, 34, 64, 65, 70]) {
      const { messages } = (await loadConversation(store, `r${last}`)) ?? {}
      expect(numbersOf(messages)).to.deep.equal(Array.from({ length: last }, (_, index) => index + 1))
    }
    expect(await loadConversation(store, 'r71')).to.equal(undefined)
  })

  it('is read over turns that are not there', async () => {
    const { store } = await storeOf(40, 10)
    await store.commit(Array.from({ length: 10 }, (_, index) => [`turn:r${index + 21}`, undefined] as const))
    const { messages } = (await loadConversation(store, 'r32')) ?? {}
    expect(numbersOf(messages)).to.deep.equal([...Array.from({ length: 20 }, (_, index) => index + 1), 31, 32])
  })

  it('of large turns is read no further than its budget, or a few turns more', async () => {
    const { store, readBytes } = await storeOf(32, MIB)
    const budget = new HistoryBudget(LIMITS)
    const { messages } = (await loadConversation(store, 'r32', { budget, isTruncated: true })) ?? {}
    expect(numbersOf(messages)).to.deep.equal([32])
    expect(readBytes()).to.be.below(6 * MIB)
  })

  it('of small turns is read in few requests', async () => {
    const { store, requests } = await storeOf(320, 10)
    expect((await loadConversation(store, 'r320'))?.turns.length).to.equal(320)
    expect(requests()).to.be.below(20)
  })

  it('of which a client has removed an item in many turns is read in few requests', async () => {
    const { store, requests } = await storeOf(60, 10)
    const conversations = new ConversationStore(store)
    const { id } = await conversations.create({})
    const loaded = (await loadConversation(store, 'r60')) as LoadedConversation
    for (const { response_id: turn } of loaded.turns)
      await conversations.removeItem(id, turn, turn, async () => [{ role: 'user', content: '0' }])
    const before = requests()
    expect((await withoutRemoved(conversations, id, loaded)).messages.length).to.equal(60)
    expect(requests() - before).to.be.below(10)
  })

  it('whose items a client has removed is read without what is left of other turns', async () => {
    const { store, readBytes } = await storeOf(8, 10)
    const conversations = new ConversationStore(store)
    const { id } = await conversations.create({})
    const rest = (turn: string) => [{ role: 'user' as const, content: `9 ${turn} ${'x'.repeat(MIB)}` }]
    for (const turn of ['r1', 'r2', 'r3', 'r4', 'r8'])
      await conversations.removeItem(id, turn, turn, async () => rest(turn))
    const { last, turns, messages } = (await loadConversation(store, 'r8')) as LoadedConversation
    const before = readBytes()
    const seen = await withoutRemoved(conversations, id, { last, turns: turns.slice(6), messages: messages.slice(6) })
    expect(numbersOf(seen.messages)).to.deep.equal([7, 9])
    expect(readBytes() - before).to.be.below(2 * MIB)
  })

  it('is looked for agents a few rows at a time, for a visitor for whom some do not exist', async () => {
    const { store, readAtOnce } = await storeOf(16, 10)
    const conversations = new ConversationStore(store)
    const { id } = await conversations.create({})
    await conversations.append(await conversations.get(id), makeTurn('end', 17, [], await loadTurn(store, 'r16')))
    const runOf = (agent: string) => JSON.stringify({ facts: { agent, instructions: 'x'.repeat(MIB) } })
    for (let n = 1; n <= 16; n++) await store.commit([[`response:r${n}`, runOf(n === 1 ? 'first' : 'other')]])
    await store.commit([['response:end', runOf('other')]])
    const findFor = (...agents: string[]) =>
      new ConversationStore(new SeenRecords(store, (agent) => agents.includes(agent))).find(id)
    expect((await findFor('first', 'other'))?.id).to.equal(id)
    expect(await findFor('other')).to.equal(undefined)
    expect(readAtOnce()).to.be.below(6 * MIB)
  })
})
