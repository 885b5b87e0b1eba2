// `npm test` runs every test; `npm test -- test/store/sqlite-store.test.ts` runs the named files alone; with OBSERVED=1 every
// run of an agent has a listener, and without names the suites run again that run agents (those of the modules: scripts/test-ejected.js).
const { existsSync, readdirSync } = require('node:fs')
const { join } = require('node:path')

const named = process.argv.slice(2).filter((argument) => argument.endsWith('.test.ts'))

const OBSERVED = [
  'host',
  'run',
  'durable',
  'server/chat-',
  'server/clients',
  'server/mcp',
  'server/responses-compat',
  'server/streams/serve-turn',
]
/** They start servers as processes of their own, which nothing here observes. */
const UNOBSERVED = ['mcp/large-resources', 'responses-compat/large-answers', 'responses-compat/durability'].map(
  (name) => join('server', `${name}.test.ts`),
)
const isObserved = (file) =>
  OBSERVED.some((prefix) => file.startsWith(join('test', prefix))) && !UNOBSERVED.some((name) => file.endsWith(name))
/** Suites of the page take longest: where they begin first, no process is left alone with them at the end. */
const isSlow = (file) => file.includes(join('server', 'ui'))
/** The tests of a package stand beside it. */
const folders = ['test', ...readdirSync('packages').map((name) => join('packages', name, 'test'))].filter(existsSync)
const listTests = (folder) => readdirSync(folder, { recursive: true }).map((file) => join(folder, file))
const all = () =>
  folders
    .flatMap(listTests)
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => !process.env.OBSERVED || isObserved(file))
    .sort((one, other) => isSlow(other) - isSlow(one) || (one < other ? -1 : 1))

module.exports = {
  'node-option': ['import=tsx', 'conditions=agent-host-source', 'no-experimental-require-module'],
  require: ['./test/support/temp-project.ts', ...(process.env.OBSERVED ? ['./test/support/observe-all.ts'] : [])],
  spec: named.length > 0 ? named : all(),
  // Longer than what a test waits for (support/run-cli.ts: 40 s for a process), so that a failure names what did not come.
  timeout: 60000,
  // Machines that are shared stall now and then; a test that fails three times in a row is broken.
  retries: process.env.CI ? 2 : 0,
  'forbid-only': true,
  exit: true,
  parallel: named.length !== 1,
  // One more than a small machine has cores: tests wait for processes, browsers and timeouts a third of their time.
  jobs: 3,
}
