import { utimes } from 'node:fs/promises'
import { expect } from 'chai'
import { Prices } from '../../src/prices/prices.ts'
import { makeProject } from '../support/temp-project.ts'

const usage = (model: string | null, cached_input_tokens = 0) => ({
  model,
  input_tokens: 1_000_000,
  output_tokens: 500_000,
  cached_input_tokens,
  reasoning_tokens: 0,
})

describe('prices', () => {
  it('come from the package by exact name; an unknown one makes the total unknown', async () => {
    const project = await makeProject({})
    const prices = new Prices(project.dir, { warn: () => {} })
    expect(prices.costOf([usage('gpt-4.1')])).equal(6)
    expect(prices.costOf([usage('gpt-4.1', 400_000)])).equal(5.4)
    expect(prices.costOf([usage('gpt-4.1'), usage('gpt-4o-mini')])).closeTo(6.45, 1e-9)
    for (const unknown of ['gpt-4.1-2025-04-14', 'constructor', null]) {
      expect(prices.costOf([usage(unknown)])).equal(null)
      expect(prices.costOf([usage('gpt-4.1'), usage(unknown)])).equal(null)
    }
    expect(prices.costOf([])).equal(null)
    // Cached tokens of a model whose price for them is not known.
    expect(prices.costOf([usage('gemini-2.5-flash', 1)])).equal(null)
    expect(prices.date).match(/^\d{4}-\d\d-\d\d$/)
  })

  it('come from prices.yml first, with live edits; an invalid one gives a warning', async () => {
    const project = await makeProject({
      'prices.yml': 'own: { input: 1, output: 4 }\ngpt-4.1: { input: 0, output: 0 }',
    })
    const warnings: string[] = []
    const prices = new Prices(project.dir, { warn: (message: string) => warnings.push(message) })
    await prices.refresh()
    expect(prices.costOf([usage('own')])).equal(3)
    expect(prices.costOf([usage('gpt-4.1')])).equal(0)
    await project.write('prices.yml', 'own: { input: cheap, output: 4 }')
    await utimes(`${project.dir}/prices.yml`, 1, 1)
    await prices.refresh()
    expect(prices.costOf([usage('own')])).equal(3)
    expect(warnings).deep.equal([
      "prices.yml: 'own': a price is { input: 2, output: 8, cached_input: 0.5 }, in US dollars per million tokens; context: 128000 says how many tokens the model takes. The prices of before stay.",
    ])
    await project.write('prices.yml', 'own: { input: 2, output: 4, context: 32000 }\ngpt-4.1: { input: 0, output: 0 }')
    await prices.refresh()
    expect(prices.costOf([usage('own')])).equal(4)
    expect([prices.contextOf('own'), prices.contextOf('gpt-4.1'), prices.contextOf('other')]).deep.equal([
      32_000,
      1_047_576,
      null,
    ])
    await project.write('prices.yml', 'own: { input: 3, output: 4 }')
    // As builders of images have it.
    await utimes(`${project.dir}/prices.yml`, 0, 0)
    await prices.refresh()
    expect(prices.costOf([usage('own')])).equal(5)
  })
})
