import { expect } from 'chai'
import { KeyvStore } from '../../src/store/keyv/keyv-store.ts'
import { recordSealing } from '../../src/store/sealing.ts'

const SECRET = 'a'.repeat(32)
const NAMES = ['acme', 'shop']

describe('sealing', () => {
  const never = () => Promise.reject(new Error('The store is not needed.'))

  it('opens what it sealed, by the same key and under the same names alone', async () => {
    const sealed = await recordSealing(never, SECRET).seal('token of Zoë', NAMES)
    const open = (secret: string, names: readonly string[]) => recordSealing(never, secret).unseal(sealed, names)
    expect(sealed).to.match(/^v1\.[\w-]+$/)
    expect(await open(SECRET, NAMES)).to.equal('token of Zoë')
    expect(await open('b'.repeat(32), NAMES)).to.equal(undefined)
    for (const names of [['other', 'shop'], ['shop', 'acme'], ['acme'], ['acmeshop'], []]) {
      expect(await open(SECRET, names), String(names)).to.equal(undefined)
    }
  })

  it('opens nothing that was changed or cut', async () => {
    const sealing = recordSealing(never, SECRET)
    const sealed = await sealing.seal('token', NAMES)
    for (let index = 3; index < sealed.length; index++) {
      const other = sealed[index] === 'A' ? 'B' : 'A'
      const changed = Buffer.from(sealed.slice(3, index) + other + sealed.slice(index + 1), 'base64url')
      // The last character has bits that stand for nothing.
      if (changed.equals(Buffer.from(sealed.slice(3), 'base64url'))) continue
      expect(await sealing.unseal(`v1.${changed.toString('base64url')}`, NAMES), `${index}`).to.equal(undefined)
      expect(await sealing.unseal(sealed.slice(0, index), NAMES), `cut at ${index}`).to.equal(undefined)
    }
    for (const text of ['', 'v1.', 'v2.', 'null', sealed.slice(3)]) {
      expect(await sealing.unseal(text, NAMES), text).to.equal(undefined)
    }
  })

  it('seals the same text differently each time', async () => {
    const sealing = recordSealing(never, SECRET)
    expect(await sealing.seal('token', NAMES)).not.to.equal(await sealing.seal('token', NAMES))
  })

  it('names a damaged key, and makes no other', async () => {
    const store = await KeyvStore.open(new Map())
    for (const text of ['"half', '"c2hvcnQ"', 'null', '{}']) {
      await store.commit([['sealing-key', text]])
      const failure = await recordSealing(async () => store)
        .seal('token', NAMES)
        .catch((error) => error)
      expect(failure, text).to.include({
        code: 'RECORD_UNREADABLE',
        message: "The stored value 'sealing-key' is damaged: it opens what the store has sealed.",
      })
      expect(await store.get(['sealing-key'])).to.deep.equal([text])
    }
  })

  it('makes one key for all servers of a store, and reads it after a failure', async () => {
    const store = await KeyvStore.open(new Map())
    let isDown = true
    const open = async () => {
      if (isDown) throw new Error('The store is down.')
      return store
    }
    const [one, other] = [recordSealing(open), recordSealing(open)]
    const failed = await one.seal('token', NAMES).catch((error: Error) => error.message)
    expect(failed).to.equal('The store is down.')
    isDown = false
    const [first, second] = await Promise.all([one.seal('first', NAMES), other.seal('second', NAMES)])
    expect([await other.unseal(first, NAMES), await one.unseal(second, NAMES)]).to.deep.equal(['first', 'second'])
    expect(await recordSealing(open).unseal(first, NAMES)).to.equal('first')
  })
})
