// Mocha's own spec reporter, and beside it one line with mocha's own counts in a file.
const { writeFileSync } = require('node:fs')
const { reporters } = require('mocha')

module.exports = class CountingReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options)
    runner.once('end', () => {
      const { passes, failures, pending } = this.stats
      const skipped = pending > 0 ? `, ${pending} skipped` : ''
      writeFileSync(options.reporterOptions.output, `${passes} passed, ${failures} failed${skipped}\n`)
    })
  }
}
