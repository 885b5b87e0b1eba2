// Mocha's own spec reporter, and beside it a file with the tests that failed or had to be repeated, and one line with mocha's own counts.
const { writeFileSync } = require('node:fs')
const { relative } = require('node:path')
const { reporters } = require('mocha')

module.exports = class CountingReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options)
    const repeated = new Set()
    const failed = new Set()
    runner.on('retry', (test) => repeated.add(nameOf(test)))
    runner.on('fail', (test) => failed.add(nameOf(test)))
    runner.once('end', () => {
      const { passes, failures, pending } = this.stats
      const skipped = pending > 0 ? `, ${pending} skipped` : ''
      const lines = [
        ...[...repeated].filter((name) => !failed.has(name)).map((name) => `Repeated: ${name}\n`),
        ...[...failed].map((name) => `Failed: ${name}\n`),
      ]
      writeFileSync(options.reporterOptions.output, `${lines.join('')}${passes} passed, ${failures} failed${skipped}\n`)
    })
  }
}

function nameOf(test) {
  return `${relative('', test.file ?? '')}: ${test.fullTitle()}`
}
