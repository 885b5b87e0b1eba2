// `npm test` runs every test; `npm test -- test/store/sqlite-store.test.ts` runs the named files alone; with OBSERVED=1
// every run of an agent has a listener.
const named = process.argv.slice(2).filter((argument) => argument.endsWith('.test.ts'))

module.exports = {
  'node-option': ['import=tsx', 'conditions=agent-host-source', 'no-experimental-require-module'],
  require: ['./test/support/temp-project.ts', ...(process.env.OBSERVED ? ['./test/support/observe-all.ts'] : [])],
  spec: named.length > 0 ? named : ['test/**/*.test.ts'],
  timeout: 20000,
  // Machines that are shared stall now and then; a test that fails three times in a row is broken.
  retries: process.env.CI ? 2 : 0,
  'forbid-only': true,
  exit: true,
  parallel: named.length !== 1,
  jobs: 2,
}
