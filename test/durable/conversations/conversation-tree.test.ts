import { expect } from 'chai'
import {
  linkChanges,
  loadConversation,
  makeTurn,
  type StoredTurn,
  turnChange,
} from '../../../src/durable/conversations/conversation-tree.ts'
import { HistoryBudget } from '../../../src/durable/conversations/history-budget.ts'
import { KeyvStore } from '../../../src/store/keyv/keyv-store.ts'

const MIB = 1024 * 1024
const LIMITS = { maxHistoryItems: 10_000, maxHistoryMb: 2, maxHistoryTurns: 1000 }

describe('a stored conversation', () => {
  /** A store that holds turns which continue each other, and counts what is read. */
  async function storeOf(turns: number, bytes: number) {
    const store = await KeyvStore.open(new Map())
    let last: StoredTurn | undefined
    for (let n = 1; n <= turns; n++) {
      last = makeTurn(`r${n}`, n, [{ role: 'user', content: `${n} ${'x'.repeat(bytes)}` }], last)
      await store.commit([turnChange(last), ...linkChanges(last)])
    }
    let readBytes = 0
    const get = store.get.bind(store)
    store.get = async (keys) => {
      const texts = await get(keys)
      readBytes += texts.reduce((sum, text) => sum + (text?.length ?? 0), 0)
      return texts
    }
    return { store, readBytes: () => readBytes }
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
})
