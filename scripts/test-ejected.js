// Ejects every module of the library, and runs the tests of the modules against the copies, every run observed. After
// `npm run build`. Arguments are mocha's.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'agent-host-ejected-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const catalog = JSON.parse(readFileSync(join(root, 'dist/library-catalog.json'), 'utf8'))
run(join(root, 'bin/run.js'), ['eject', '-m', ...catalog.map(({ reference }) => reference)])
for (const name of ['package.json', 'tsconfig.json', 'test']) {
  cpSync(join(root, name), join(folder, name), { recursive: true })
}
for (const name of ['src', 'node_modules', 'dist', 'bin', 'docs', 'templates']) {
  symlinkSync(join(root, name), join(folder, name))
}
const settings = createRequire(import.meta.url)('../.mocharc.cjs')
writeFileSync(
  join(folder, '.mocharc.json'),
  JSON.stringify({
    ...settings,
    require: [...settings.require, './test/support/observe-all.ts'],
    spec: ['test/modules/**/*.test.ts'],
  }),
)
run(join(root, 'node_modules/mocha/bin/mocha.js'), process.argv.slice(2))

function run(file, args) {
  const { status } = spawnSync(process.execPath, [file, ...args], { cwd: folder, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
