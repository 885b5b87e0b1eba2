// Tests see faults: of 200 mutants of decisions, continuations, waiting and replays, drawn by a seed, at least 70 % die in the nearest tests.
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { parse } from 'yaml'
import { draw, Mutation, type TestedMutant } from '../support/mutants/mutants.ts'

/** Nearest tests of each folder: in one process, and each fast. */
const NEAREST: Readonly<Record<string, readonly string[]>> = parse(
  readFileSync(new URL('../support/mutants/nearest.yml', import.meta.url), 'utf8'),
)
/** Mutants that may live, with the reason. */
const ALIKE: readonly { file: string; code: string; replacement: string; reason: string }[] = parse(
  readFileSync(new URL('../support/mutants/alike.yml', import.meta.url), 'utf8'),
)
const SEED = process.env.MUTANTS_SEED ?? String(randomInt(1_000_000))
const COUNT = Number(process.env.MUTANTS_COUNT ?? 200)

describe('mutants', () => {
  it(`die in the nearest tests: ${COUNT} of seed ${SEED}`, async () => {
    await using mutation = await Mutation.install()
    const drawn = draw(await mutation.list(Object.keys(NEAREST)), COUNT, SEED)
    const tested: TestedMutant[] = []
    for (const [folder, tests] of Object.entries(NEAREST)) {
      const own = drawn.filter(({ file }) => file.startsWith(`${folder}/`))
      if (own.length > 0) tested.push(...(await mutation.test(folder, tests, own)))
    }
    const living = tested.filter(({ status }) => status !== 'Killed' && status !== 'Timeout')
    console.log(`      ${tested.length - living.length} of ${tested.length} mutants of seed ${SEED} died. These live:`)
    for (const mutant of living) console.log(`      ${describeMutant(mutant)}`)
    expect(tested).to.have.length(COUNT)
    expect(tested.length - living.length).to.be.at.least(0.7 * COUNT)
  }).timeout(60 * 60_000)
})

function describeMutant({ file, line, code, replacement, status }: TestedMutant): string {
  const alike = ALIKE.find((one) => one.file === file && one.code === code && one.replacement === replacement)
  return `${file}:${line} (${status}) ${code} -> ${replacement}${alike ? `: ${alike.reason}` : ''}`
}
