import { expect } from 'chai'
import fc from 'fast-check'
import { RunIds } from '../../../src/durable/runs/run-ids.ts'
import { type EndStep, packSteps, type Step, unpackSteps } from '../../../src/durable/runs/steps.ts'
import {
  EventWriter,
  eventStreamOf,
  FRAMES,
} from '../../../src/server/adapters/responses-compat/output/event-writer.ts'
import { recordAfter } from '../../../src/server/adapters/responses-compat/output/output.ts'
import { RESPONSES, toRecord } from '../../../src/server/adapters/responses-compat/runs/to-record.ts'
import { COMPAT, V1 } from '../../../src/server/replies/dialect.ts'
import { anyCharacter } from '../../support/any-character.ts'
import type { Json } from '../../support/responses.ts'
import { makeFacts } from '../../support/run-facts.ts'
import { readEvents } from '../../support/server.ts'

const begun = toRecord(new RunIds('resp_').next(), makeFacts({ adapter: RESPONSES, agent: 'talk', data: {} }))

const text: fc.Arbitrary<Step> = fc.string({ unit: anyCharacter, maxLength: 20 })
const reasoning: fc.Arbitrary<Step> = fc
  .string({ unit: anyCharacter, maxLength: 20 })
  .map((reasoning) => ({ reasoning }))
const id = fc.constantFrom('a', 'b', 'c')
const args = fc
  .dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 })
  .map((value) => JSON.parse(JSON.stringify(value)))
const called = fc.record({ id, name: fc.string({ minLength: 1 }), arguments: args, moduleId: fc.constant('tools') })
const call: fc.Arbitrary<Step> = called.map((call) => ({ call }))
const result: fc.Arbitrary<Step> = fc
  .record({ callId: id, text: fc.string(), isError: fc.boolean() })
  .map((result) => ({ result }))
const pending: fc.Arbitrary<Step> = fc
  .tuple(fc.constantFrom('client_tool' as const, 'approval' as const, 'question' as const), called)
  .map(([kind, { id: callId, name, arguments: args }]) => ({ pending: { callId, kind, name, arguments: args } }))
const attachment: fc.Arbitrary<Step> = fc.constantFrom<Step>(
  { attachment: { mediaType: 'image/png', base64: 'AQID' } },
  { attachment: { mediaType: 'image/png', url: 'https://example.test/a.png' } },
  { attachment: { mediaType: 'text/csv', name: 'a.csv', base64: 'AQID' } },
)
const attempt: fc.Arbitrary<Step> = fc.constantFrom<Step>({ hidden: null }, { restart: 2 })
const other = fc.oneof(reasoning, call, result, pending, attachment, attempt)
const usage = { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1, reasoningTokens: 0 }
const end: fc.Arbitrary<EndStep> = fc.constantFrom<EndStep>(
  { end: 'completed', at: 1_800_000_001, usage },
  { end: 'completed', at: 1_800_000_001, usage, incomplete: 'max_steps' },
  { end: 'failed', at: 1_800_000_001, error: 'Agent execution failed' },
  { end: 'cancelled', at: 1_800_000_001 },
)
const steps = fc.array(fc.oneof({ arbitrary: text, weight: 1 }, other), { maxLength: 30 })
/** A whole response; now and then one that was cancelled after its end. */
const whole = fc.tuple(steps, end, fc.boolean()).map(([said, last, again]): Step[] => {
  const isAgain = again && last.end === 'completed'
  return [...said, last, ...(isAgain ? [{ end: 'cancelled', at: 1_800_000_002 } as const] : [])]
})

function write(of: readonly Step[], after = 0): Json[] {
  return readEvents(piecesOf(new EventWriter(begun, after), of).join(''))
}

function piecesOf(writer: EventWriter, of: readonly Step[]): string[] {
  return [...writer.open(), ...writer.write(of)]
}

describe('the events of a response', () => {
  it('are the same, however the steps arrive', () => {
    fc.assert(
      fc.property(whole, fc.array(fc.integer({ min: 1, max: 5 })), (all, sizes) => {
        const writer = new EventWriter(begun)
        let written = [...writer.open()].join('')
        let at = 0
        for (const size of sizes) {
          written += [...writer.write(all.slice(at, at + size))].join('')
          at += size
        }
        written += [...writer.write(all.slice(at))].join('')
        expect(readEvents(written)).to.deep.equal(write(all))
      }),
    )
  })

  it('continue after any of them', () => {
    fc.assert(
      fc.property(whole, (all) => {
        const events = write(all)
        for (let after = 0; after <= events.length; after++) {
          expect(write(all, after)).to.deep.equal(events.slice(after))
        }
      }),
      { numRuns: 30 },
    )
  })

  it('are the same in small pieces, where texts are large and the record is known', () => {
    const large = fc
      .tuple(fc.string({ unit: anyCharacter, minLength: 1, maxLength: 20 }), fc.nat(10_000))
      .map(([unit, count]) => unit.repeat(count))
    const part = fc.oneof(
      large,
      large.map((text): Step => ({ reasoning: text })),
      large.map((text): Step => ({ result: { callId: 'a', text, isError: false } })),
      large.map(
        (text): Step => ({ attachment: { mediaType: 'image/png', base64: Buffer.from(text).toString('base64') } }),
      ),
      other,
    )
    const all = fc.tuple(fc.array(part, { maxLength: 6 }), end).map(([said, last]): Step[] => [...said, last])
    fc.assert(
      fc.property(all, fc.nat(12), (steps, after) => {
        for (const framing of [eventStreamOf(V1), eventStreamOf(COMPAT), FRAMES]) {
          const pieces = piecesOf(new EventWriter(begun, after, framing, recordAfter(begun, steps, framing)), steps)
          expect(pieces.join('') === piecesOf(new EventWriter(begun, after, framing), steps).join('')).to.equal(true)
          if (framing !== FRAMES) expect(Math.max(0, ...pieces.map(({ length }) => length))).to.be.below(400_000)
          else expect(pieces.every((piece) => piece.endsWith('\n'))).to.equal(true)
          const json = pieces
            .join('')
            .replace(/^event: .*\n/gm, '')
            .replace(/^data: /gm, '')
            .split(/\n+/)
            .filter(Boolean)
          expect(json.every((line) => JSON.stringify(JSON.parse(line)) === line)).to.equal(true)
          expect(json.map((line) => JSON.parse(line).sequence_number)).to.deep.equal(
            json.map((_, index) => after + index + 1),
          )
        }
      }),
      { numRuns: 25 },
    )
  })

  it('are the same when written from a finished response', () => {
    fc.assert(
      fc.property(whole, (all) => {
        expect(unpackSteps(JSON.parse(JSON.stringify(packSteps(all))))).to.deep.equal(all)
      }),
    )
  })

  it('end with the record, and add up to its output', () => {
    fc.assert(
      fc.property(whole, (all) => {
        const events = write(all)
        expect(events.map((event) => event.sequence_number)).to.deep.equal(events.map((_, index) => index + 1))
        expect(events.at(-1).response).to.deep.equal(JSON.parse(JSON.stringify(recordAfter(begun, all))))
        expect(assemble(events)).to.deep.equal(
          events
            .at(-1)
            .response.output.map((item: Json) => item.content?.[0].text ?? item.summary?.[0].text ?? saidBy(item)),
        )
      }),
    )
  })
})

/** Deltas of an item that is not told in pieces of text; an approval is told whole. */
function saidBy({ type, arguments: args = '' }: Json): string {
  return type === 'mcp_approval_request' ? '' : args
}

/** What a client that knows only the deltas has in the end, item by item; each opened before, with the same ids. */
function assemble(events: readonly Json[]): string[] {
  const items: { id: string; said: string }[] = []
  for (const event of events) {
    if (event.type === 'response.output_item.added') {
      expect(event.output_index).to.equal(items.length)
      items.push({ id: event.item.id, said: '' })
    }
    const item = items[event.output_index]
    if (!item || event.type === 'response.output_item.added') continue
    expect(event.item_id ?? event.item.id).to.equal(item.id)
    if (event.delta !== undefined) item.said += event.delta
  }
  return items.map(({ said }) => said)
}
