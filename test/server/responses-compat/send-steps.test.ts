import { expect } from 'chai'
import { RunIds } from '../../../src/durable/runs/run-ids.ts'
import type { Step } from '../../../src/durable/runs/steps.ts'
import { EventWriter } from '../../../src/server/adapters/responses-compat/output/event-writer.ts'
import { sendSteps } from '../../../src/server/adapters/responses-compat/output/send-steps.ts'
import { RESPONSES, toRecord } from '../../../src/server/adapters/responses-compat/runs/to-record.ts'
import { makeFacts } from '../../support/run-facts.ts'

const id = new RunIds('resp_').next()
const facts = makeFacts({ adapter: RESPONSES, agent: 'talk', data: {} })
const begun = toRecord(id, facts)
const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 }

describe('sendSteps', () => {
  for (const count of [0, 1, 499, 500, 501, 999, 1000, 1001]) {
    it(`sends every event of ${count} steps once, in pieces`, async () => {
      const steps: Step[] = [
        ...Array.from({ length: count }, (_, index) => `${index} `),
        { end: 'completed', at: 1_800_000_001, usage },
      ]
      // At first without the end, so that the rest of a piece is not the end of the response.
      for (const first of [steps.length, count]) {
        const pieces = first === 0 ? [steps] : [steps.slice(0, first), steps.slice(first)]
        const sent: string[] = []
        const stream = {
          isOpen: true,
          send: (text: string) => void sent.push(text),
          end: (text: string) => void sent.push(text),
        }
        const read = async () => pieces.shift() ?? []
        await sendSteps({ id, facts, read }, new EventWriter(begun), stream)
        const writer = new EventWriter(begun)
        expect(sent.join('')).to.equal([...writer.open(), ...writer.write(steps), writer.done].join(''))
        expect(Math.max(...sent.map((text) => text.split('\n\n').length))).to.be.below(520)
      }
    })
  }
})
