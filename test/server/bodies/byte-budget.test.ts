import { expect } from 'chai'
import { runNode } from '../../support/run-cli.ts'

const BUDGET = new URL('../../../src/server/bodies/byte-budget.ts', import.meta.url)

describe('heapShare', () => {
  for (const megabytes of [96, 512])
    it(`is a share of the ${megabytes} MiB for old objects, on any version of Node`, async () => {
      const script = `console.log((await import('${BUDGET}')).heapShare(1) / 1024 ** 2)`
      const flags = [`--max-old-space-size=${megabytes}`, '--import=tsx', '--input-type=module']
      expect(await runNode([...flags, '--eval', script])).to.include({ stdout: `${megabytes}\n`, stderr: '' })
    })
})
