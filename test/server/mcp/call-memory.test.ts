import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import type { CallMemory, KeptConversation } from '../../../src/server/adapters/mcp/call-memory/call-memory.ts'
import { LocalCallMemory } from '../../../src/server/adapters/mcp/call-memory/local-call-memory.ts'
import { StoredCallMemory } from '../../../src/server/adapters/mcp/call-memory/stored-call-memory.ts'
import { KeyvStore } from '../../../src/store/keyv/keyv-store.ts'
import type { RecordStore } from '../../../src/store/record-store.ts'
import { eventually } from '../../support/eventually.ts'

const PNG = { mediaType: 'image/png', data: Buffer.from([1, 2, 3]) }
const CONVERSATION = {
  agentId: 'guide',
  messages: [{ role: 'user' as const, content: 'see', attachments: [PNG] }],
}
const _CALL = {
  name: 'shop',
  pending: [{ callId: 'call_1', kind: 'approval' as const, name: 'pay', arguments: { amount: 40 }, digest: 'd' }],
  trail: [{ role: 'user' as const, content: 'pay' }],
}

const stored = (records: RecordStore, retentionDays?: number) =>
  new StoredCallMemory({ openRecords: async () => records, retentionDays })

/** Keeps a new conversation, and returns its id. */
const begin = async (memory: CallMemory, conversation: KeptConversation): Promise<string> =>
  (await memory.writeConversation(undefined, conversation)) ?? ''

const KINDS = {
  'in this process': async () => new LocalCallMemory(),
  'in a store': async () => stored(await KeyvStore.open(new Map())),
}

for (const [place, open] of Object.entries(KINDS)) {
  describe(`the memory of calls over MCP, ${place}`, () => {
    it('returns a conversation with attachments, only to its agent', async () => {
      const memory = await open()
      const id = await begin(memory, CONVERSATION)
      expect(await memory.readConversation(id, 'guide')).to.deep.equal(CONVERSATION.messages)
      const longer = {
        ...CONVERSATION,
        messages: [...CONVERSATION.messages, { role: 'assistant' as const, content: 'a' }],
      }
      expect(await memory.writeConversation(id, longer)).to.equal(id)
      expect(await memory.readConversation(id, 'guide')).to.deep.equal(longer.messages)
      for (const [other, agentId] of [
        [id, 'other'],
        [randomUUID(), 'guide'],
        ['no id\n', 'guide'],
      ] as const) {
        expect(await memory.readConversation(other, agentId)).to.equal(undefined)
      }
      await begin(memory, { ...CONVERSATION, agentId: 'other' })
      expect(await memory.listTitles('guide', { limit: 9 })).to.deep.equal([{ id, title: 'see' }])
      await memory.close()
    })

    it('lists the conversations of an agent page by page, in the order of their ids', async () => {
      const memory = await open()
      const ids: string[] = []
      for (const agentId of ['guide', 'guide', 'guide-2', 'guide', 'gui']) {
        const id = await begin(memory, { ...CONVERSATION, agentId })
        if (agentId === 'guide') ids.push(id)
      }
      ids.sort()
      const page = await memory.listTitles('guide', { limit: 2 })
      const rest = await memory.listTitles('guide', { after: ids[1], limit: 2 })
      expect([...page, ...rest].map(({ id }) => id)).to.deep.equal(ids)
      expect(page).to.have.length(2)
      await memory.close()
    })

    it('keeps the conversations of a user for that user, and for who has all', async () => {
      const memory = await open()
      const id = await begin(memory, { ...CONVERSATION, user: 'eve' })
      const ofNobody = await begin(memory, CONVERSATION)
      const listOf = async (user?: string) => (await memory.listTitles('guide', { limit: 9, user })).map(({ id }) => id)
      expect([await listOf('eve'), await listOf('ada')]).to.deep.equal([[id], []])
      expect(await listOf()).to.have.members([id, ofNobody])
      for (const other of [id, ofNobody]) {
        expect(await memory.readConversation(other, 'guide', 'ada')).to.equal(undefined)
        const itsOwn = await memory.writeConversation(other, { ...CONVERSATION, messages: [], user: 'ada' })
        expect(itsOwn).to.not.equal(other)
        expect(await memory.readConversation(other, 'guide')).to.deep.equal(CONVERSATION.messages)
      }
      expect(await memory.writeConversation(id, { ...CONVERSATION, user: undefined })).to.equal(id)
      expect(await memory.readConversation(id, 'guide', 'eve')).to.deep.equal(CONVERSATION.messages)
      expect(await listOf('eve')).to.deep.equal([id])
      await memory.close()
    })

    it('lists the conversations of a user among many of others, page by page', async () => {
      const memory = await open()
      const ids: string[] = []
      for (let n = 0; n < 450; n++) {
        const user = n % 150 === 0 ? 'ada' : 'eve'
        const id = await begin(memory, { ...CONVERSATION, user })
        if (user === 'ada') ids.push(id)
      }
      const first = await memory.listTitles('guide', { limit: 2, user: 'ada' })
      const rest = await memory.listTitles('guide', { limit: 2, user: 'ada', after: first[1]?.id })
      expect([first, rest].map((page) => page.length)).to.deep.equal([2, 1])
      expect([...first, ...rest].map(({ id }) => id)).to.deep.equal(ids.sort())
      await memory.close()
    })

    it('leaves a conversation that is gone as it is: who goes on with it brings nothing back', async () => {
      const memory = await open()
      const gone = randomUUID()
      expect(await memory.writeConversation(gone, CONVERSATION)).to.equal(undefined)
      expect(await memory.readConversation(gone, 'guide')).to.equal(undefined)
      expect(await memory.listTitles('guide', { limit: 9 })).to.deep.equal([])
      await memory.close()
    })

    it('keeps tenants apart, also where an id of another is known', async () => {
      const memory = await open()
      const [acme, globex] = [memory.of('acme'), memory.of('globex')]
      const id = await begin(acme, CONVERSATION)
      for (const other of [memory, globex, memory.of('')]) {
        expect(await other.readConversation(id, 'guide')).to.equal(undefined)
        expect(await other.listTitles('guide', { limit: 9 })).to.deep.equal([])
        const answers: unknown[] = []
        const question = { id: randomUUID(), session: 's' }
        const end = await acme.awaitAnswer(question, (answer) => answers.push(answer))
        await other.passAnswer(question, 'from another tenant')
        end()
        expect(answers).to.deep.equal([])
      }
      expect(await memory.of('acme').readConversation(id, 'guide')).to.deep.equal(CONVERSATION.messages)
      await memory.close()
    })
  })
}

describe('the memory of calls over MCP, in a store', () => {
  it('lists conversations without reading them, also where rows are damaged', async () => {
    const records = await KeyvStore.open(new Map())
    const memory = stored(records)
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push(await begin(memory, CONVERSATION))
    ids.sort()
    await records.commit([
      [`mcp-conversation:${ids[0]}`, '{"half'],
      [`mcp-title:guide:${ids[1]}`, '{"half'],
      [`mcp-title:guide:${ids[2]}`, 'null'],
    ])
    const read: string[] = []
    const { entries } = records
    records.entries = async (range) => {
      const found = await entries.call(records, range)
      read.push(...found.map(([key]) => key.slice(0, key.indexOf(':'))))
      return found
    }
    const titles = ['see', '', '']
    expect(await memory.listTitles('guide', { limit: 9 })).to.deep.equal(
      ids.map((id, index) => ({ id, title: titles[index] })),
    )
    expect(read).to.deep.equal(['mcp-title', 'mcp-title', 'mcp-title'])
    await memory.close()
  })

  it('lists a title of an earlier version, which has no user, to who has all', async () => {
    const records = await KeyvStore.open(new Map())
    const memory = stored(records)
    const id = await begin(memory, { ...CONVERSATION, user: 'ada' })
    await records.commit([[`mcp-title:guide:${id}`, '"see"']])
    expect(await memory.listTitles('guide', { limit: 9 })).to.deep.equal([{ id, title: 'see' }])
    expect(await memory.listTitles('guide', { limit: 9, user: 'ada' })).to.deep.equal([])
    await memory.writeConversation(id, { ...CONVERSATION, user: 'ada' })
    expect(await memory.listTitles('guide', { limit: 9, user: 'ada' })).to.deep.equal([{ id, title: 'see' }])
    await memory.close()
  })

  it('passes an answer to the server that asks, once, from its session alone', async () => {
    const records = await KeyvStore.open(new Map())
    const [asking, other] = [stored(records), stored(records)]
    const question = { id: randomUUID(), session: 'ask-1' }
    const heard: unknown[] = []
    const end = await asking.awaitAnswer(question, (result) => heard.push(result))
    await other.passAnswer({ ...question, session: 'ask-2' }, { action: 'accept' })
    await other.passAnswer({ ...question, id: randomUUID() }, { action: 'accept' })
    await wait(20)
    expect(heard).to.deep.equal([])
    await other.passAnswer(question, undefined)
    await other.passAnswer(question, { action: 'accept' })
    await eventually(() => expect(heard).to.deep.equal([null]))
    end()
    await eventually(async () => expect(await records.list({ prefix: 'mcp-', limit: 10 })).to.deep.equal([]))
    await other.passAnswer(question, { action: 'accept' })
    expect(await records.list({ prefix: 'mcp-', limit: 10 })).to.deep.equal([])
    await asking.close()
  })

  it('deletes conversations after the retention period, completely', async () => {
    const map = new Map<string, unknown>()
    const records = await KeyvStore.open(map)
    const old = await begin(stored(records, 0), CONVERSATION)
    const oldOfTenant = await begin(stored(records, 0).of('acme'), CONVERSATION)
    await wait(2)
    const memory = stored(records, 1)
    const kept = await begin(memory, CONVERSATION)
    await eventually(async () => expect(await memory.readConversation(old, 'guide')).to.equal(undefined))
    await eventually(async () => {
      expect(await memory.of('acme').readConversation(oldOfTenant, 'guide')).to.equal(undefined)
      expect(await records.list({ prefix: '@', limit: 10 })).to.deep.equal([])
    })
    expect(await memory.readConversation(kept, 'guide')).to.deep.equal(CONVERSATION.messages)
    const left = await records.list({ prefix: 'mcp-', limit: 10 })
    expect(left.map((key) => key.replace(/:.*:/, ':'))).to.have.members([
      `mcp-conversation:${kept}`,
      `mcp-expiry:${kept}`,
      `mcp-title:${kept}`,
    ])
    await memory.close()
  })

  it('leaves a conversation as it is that another server forgets at the same moment', async () => {
    const records = await KeyvStore.open(new Map())
    const memory = stored(records, 1)
    const id = await begin(memory, CONVERSATION)
    const { commit } = records
    records.commit = async (...args) => {
      records.commit = commit
      const keys = await records.list({ prefix: 'mcp-', limit: 10 })
      await records.commit(keys.map((key) => [key, undefined]))
      return records.commit(...args)
    }
    expect(await memory.writeConversation(id, CONVERSATION)).to.equal(undefined)
    expect(await records.list({ prefix: 'mcp-', limit: 10 })).to.deep.equal([])
    await memory.close()
  })

  it('keeps a conversation that was used again before its deletion', async () => {
    const records = await KeyvStore.open(new Map())
    const id = await begin(stored(records, 1), CONVERSATION)
    const expiries = () => records.list({ prefix: 'mcp-expiry:', limit: 10 })
    expect(await expiries()).to.have.length(1)
    const memory = stored(records)
    expect(await memory.writeConversation(id, CONVERSATION)).to.equal(id)
    expect(await expiries()).to.deep.equal([])
    expect(await memory.readConversation(id, 'guide')).to.deep.equal(CONVERSATION.messages)
    await memory.close()
  })
})
