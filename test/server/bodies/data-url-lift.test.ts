import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import fc from 'fast-check'
import { DecodedUrl } from '../../../src/data-url.ts'
import { DataUrlLift } from '../../../src/server/bodies/data-url-lift.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'

const MIN_BYTES = 48 * 1024

/** Sends a body in pieces of these lengths, the last of which repeats. */
async function lift(body: string, lengths: readonly number[] = [64 * 1024], isLengthKnown = true) {
  const bytes = Buffer.from(body)
  const stream = new DataUrlLift({ length: isLengthKnown ? bytes.length : undefined, maxBytes: 1024 ** 3 })
  const left = await text(Readable.from(cut(bytes, lengths)).pipe(stream))
  return { left, restored: stream.restore(JSON.parse(left)) as { messages: never } }
}

function* cut(bytes: Buffer, lengths: readonly number[]) {
  for (let start = 0, index = 0; start < bytes.length; index++) {
    const length = lengths[Math.min(index, lengths.length - 1)] ?? 1
    yield bytes.subarray(start, start + length)
    start += length
  }
}

const urlOf = (bytes: Buffer, encoding: BufferEncoding = 'base64') =>
  `data:image/png;base64,${bytes.toString(encoding)}`
const bodyOf = (url: unknown) => JSON.stringify({ messages: [{ content: [{ image_url: { url } }] }], ö: 'ü' })

describe('DataUrlLift', () => {
  it('takes the bytes out of the text and puts them back as they were sent, however they arrive', async () => {
    const size = fc.integer({ min: MIN_BYTES - 3, max: MIN_BYTES + 3 })
    const lengths = fc.array(fc.integer({ min: 1, max: 80_000 }), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(size, lengths, fc.boolean(), async (size, lengths, isLengthKnown) => {
        const bytes = randomBytes(size)
        const body = bodyOf(urlOf(bytes))
        const { left, restored } = await lift(body, [...lengths, 5000], isLengthKnown)
        expect(left.length).to.be[size >= MIN_BYTES ? 'below' : 'above'](200)
        expect(JSON.stringify(restored)).to.equal(body)
      }),
      { numRuns: 40 },
    )
  })

  it('gives the bytes of an address', async () => {
    for (const size of [300_000, 300_001, 300_002]) {
      const bytes = randomBytes(size)
      const { restored } = await lift(bodyOf(urlOf(bytes)))
      const { url } = (restored.messages as [{ content: [{ image_url: { url: DecodedUrl } }] }])[0].content[0].image_url
      expect(url).to.be.instanceOf(DecodedUrl)
      expect(bytes.equals(url.data)).to.equal(true)
    }
  })

  const bytes = randomBytes(100_001)
  const url = urlOf(bytes)
  const asText: [what: string, body: unknown][] = [
    ['a text that quotes an address', { messages: [{ content: `look: ${url}`, url: `look: ${url}` }] }],
    ['two addresses in one text', { messages: [{ url: `${url};base64,${bytes.toString('base64')}` }] }],
    ['an address outside of what the user said', { metadata: { url } }],
    ['a field of another name', { input: [{ note: url }] }],
    ['the alphabet for URLs', { input: [{ image_url: urlOf(bytes, 'base64url') }] }],
    ['padding that is missing', { input: [{ image_url: url.replace(/=+$/, '') }] }],
    ['bits behind the last byte', { input: [{ image_url: url.replace(/.=$/, 'B=') }] }],
    ['line breaks', { input: [{ image_url: url.replace(/.{76}/g, '$&\r\n') }] }],
    ['an address of metadata', { metadata: { input: { url }, messages: [{ image_url: { url } }] } }],
    ['a second parameter behind the bytes', { input: [{ image_url: `${url},more` }] }],
  ]
  for (const [what, body] of asText) {
    it(`leaves ${what} as it is`, async () => {
      expect((await lift(JSON.stringify(body))).restored).to.deep.equal(body)
    })
  }

  it('leaves slashes that a client escapes', async () => {
    const body = bodyOf(url).replaceAll('/', '\\/')
    expect((await lift(body)).restored).to.deep.equal(JSON.parse(body))
  })

  it('refuses keys that hold bytes', async () => {
    await lift(JSON.stringify({ [url]: 1 })).then(
      () => expect.fail('no error'),
      ({ code, message }) =>
        expect([code, message]).to.deep.equal(['REQUEST_INVALID', 'A key of the body is too long']),
    )
  })

  it('takes no memory for each of very many prefixes without bytes', async () => {
    const spentMs = measureCpuTime()
    const body = JSON.stringify({ input: ';base64,'.repeat(200_000) })
    expect((await lift(body)).left).to.equal(body)
    expect(spentMs()).to.be.below(3000)
  })

  it('looks at a list of millions of numbers beside a picture without a key for each', async () => {
    const numbers = Array.from({ length: 8_000_000 }, () => 0)
    const body = `{"metadata":{"numbers":[${numbers.join()}]},${bodyOf(url).slice(1)}`
    const stream = new DataUrlLift({ length: undefined, maxBytes: 1024 ** 3 })
    const value = JSON.parse(await text(Readable.from(cut(Buffer.from(body), [64 * 1024])).pipe(stream)))
    const spentMs = measureCpuTime()
    const { messages } = stream.restore(value) as { messages: [{ content: [{ image_url: { url: DecodedUrl } }] }] }
    expect(spentMs()).to.be.below(700)
    expect(bytes.equals(messages[0].content[0].image_url.url.data)).to.equal(true)
  })

  it('passes on what is over the limit, so that the reader refuses it', async () => {
    const stream = new DataUrlLift({ length: undefined, maxBytes: 1000 })
    const sent = Buffer.from(bodyOf(url))
    const left = await text(Readable.from([sent]).pipe(stream))
    expect([left, stream.receivedEncodedLength]).to.deep.equal([sent.toString(), sent.length])
  })
})
