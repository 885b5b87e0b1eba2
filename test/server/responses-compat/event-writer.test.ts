import { expect } from 'chai'
import fc from 'fast-check'
import { RunIds } from '../../../src/durable/run-ids.ts'
import { type EndStep, packSteps, type Step, unpackSteps } from '../../../src/durable/steps.ts'
import { beginRecord } from '../../../src/server/adapters/responses-compat/convert.ts'
import { EventWriter } from '../../../src/server/adapters/responses-compat/event-writer.ts'
import { recordAfter } from '../../../src/server/adapters/responses-compat/output.ts'
import type { Json } from '../../support/responses.ts'
import { readEvents } from '../../support/server.ts'

const begun = beginRecord({ input: 'hi', model: 'talk' }, new RunIds('resp_').next(), 1_800_000_000)

const text: fc.Arbitrary<Step> = fc.string({ unit: 'binary', maxLength: 20 })
const call: fc.Arbitrary<Step> = fc
  .record({ callId: fc.string({ minLength: 1 }), name: fc.string({ minLength: 1 }), arguments: fc.json() })
  .map((call) => ({ call }))
const usage = { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1, reasoningTokens: 0 }
const end: fc.Arbitrary<EndStep> = fc.constantFrom<EndStep>(
  { end: 'completed', at: 1_800_000_001, usage },
  { end: 'completed', at: 1_800_000_001, usage, incomplete: 'max_steps' },
  { end: 'failed', at: 1_800_000_001, error: 'Agent execution failed' },
  { end: 'cancelled', at: 1_800_000_001 },
)
const steps = fc.array(fc.oneof({ arbitrary: text, weight: 4 }, call), { maxLength: 30 })
/** A whole response; now and then one that was cancelled after its end. */
const whole = fc.tuple(steps, end, fc.boolean()).map(([said, last, again]): Step[] => {
  const isAgain = again && last.end === 'completed'
  return [...said, last, ...(isAgain ? [{ end: 'cancelled', at: 1_800_000_002 } as const] : [])]
})

function write(of: readonly Step[], after = 0): Json[] {
  const writer = new EventWriter(begun, after)
  return readEvents(writer.open() + writer.write(of))
}

describe('the events of a response', () => {
  it('are the same, however the steps come', () => {
    fc.assert(
      fc.property(whole, fc.array(fc.integer({ min: 1, max: 5 })), (all, sizes) => {
        const writer = new EventWriter(begun)
        let written = writer.open()
        let at = 0
        for (const size of sizes) {
          written += writer.write(all.slice(at, at + size))
          at += size
        }
        written += writer.write(all.slice(at))
        expect(readEvents(written)).to.deep.equal(write(all))
      }),
    )
  })

  it('go on after any of them', () => {
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

  it('are the same from what a finished response keeps', () => {
    fc.assert(
      fc.property(whole, (all) => {
        expect(unpackSteps(JSON.parse(JSON.stringify(packSteps(all))))).to.deep.equal(all)
      }),
    )
  })

  it('end with the record, and make up its output', () => {
    fc.assert(
      fc.property(whole, (all) => {
        const events = write(all)
        expect(events.map((event) => event.sequence_number)).to.deep.equal(events.map((_, index) => index + 1))
        expect(events.at(-1).response).to.deep.equal(JSON.parse(JSON.stringify(recordAfter(begun, all))))
        expect(assemble(events)).to.deep.equal(
          events.at(-1).response.output.map((item: Json) => item.content?.[0].text ?? item.arguments),
        )
      }),
    )
  })
})

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
