// Mocha's own spec reporter, and beside it a file with the tests that failed or had to be repeated, and one line with mocha's own counts.
const { writeFileSync } = require('node:fs')
const { relative } = require('node:path')
const { reporters } = require('mocha')

module.exports = class CountingReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options)
    const repeated = new Map()
    const failed = new Set()
    runner.on('retry', (test, error) => repeated.set(nameOf(test), error))
    runner.on('fail', (test) => failed.add(nameOf(test)))
    runner.once('end', () => {
      const { passes, failures, pending } = this.stats
      const skipped = pending > 0 ? `, ${pending} skipped` : ''
      const lines = [
        ...[...repeated]
          .filter(([name]) => !failed.has(name))
          .map(([name, error]) => `Repeated: ${name}: ${reasonOf(error)}\n`),
        ...[...failed].map((name) => `Failed: ${name}\n`),
      ]
      writeFileSync(options.reporterOptions.output, `${lines.join('')}${passes} passed, ${failures} failed${skipped}\n`)
    })
  }
}

function nameOf(test) {
  return `${relative('', test.file ?? '')}: ${test.fullTitle()}`
}

// On one line, whole enough for the seed of a random test and what it had played.
function reasonOf(error) {
  return JSON.stringify(String(error?.message ?? error).slice(0, 3000))
}
