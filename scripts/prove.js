// Runs the long proofs, test/prove/*.prove.ts, and records their results in docs/proofs.md. `npm run prove` lists them,
// `npm run prove fuzz` builds and runs one, `npm run prove all` runs them all; `npm run prove scale -- --grep 'kill -9'` runs a part of
// one, and records nothing. A proof of which a part is skipped has not passed.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Tests have limits of their own; this one ends a proof that hangs outside of them. */
const LIMIT_MS = 90 * 60_000
const ENDING = '.prove.ts'
const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'test/prove')
const page = join(root, 'docs/proofs.md')
const [chosen, ...mochaOptions] = process.argv.slice(2)
const names = readdirSync(folder)
  .filter((file) => file.endsWith(ENDING))
  .map((file) => file.slice(0, -ENDING.length))

if (chosen === undefined) for (const name of names) console.log(`${name.padEnd(14)}${describeProof(name)}`)
else if (chosen === 'all' || names.includes(chosen)) {
  execFileSync('npm', ['run', 'build', '--silent'], { cwd: root, stdio: 'inherit' })
  for (const name of chosen === 'all' ? names : [chosen]) prove(name)
} else fail(`There is no proof '${chosen}'. Choose one of: ${names.join(', ')}, all.`)

/** The first line of a proof is a comment that states its claim. */
function describeProof(name) {
  return readFileSync(join(folder, name + ENDING), 'utf8')
    .split('\n', 1)[0]
    .replace(/^\/\/ /, '')
}

function prove(name) {
  const startedMs = Date.now()
  const result = resultOf(name)
  const seconds = Math.round((Date.now() - startedMs) / 1000)
  const cells = [name, describeProof(name), result, new Date().toISOString().slice(0, 10), commit(), `${seconds} s`]
  if (result === 'skipped')
    return fail(`Parts of the proof '${name}' were skipped: install what is missing. Nothing is recorded.`)
  if (mochaOptions.length === 0) record(name, cells)
  if (result !== 'passed') fail(`The proof '${name}' ${result}.`)
}

function resultOf(name) {
  const counts = join(tmpdir(), `agent-host-prove-${process.pid}`)
  const { status, error } = spawnSync(process.execPath, mochaArguments(name, counts), {
    cwd: root,
    stdio: 'inherit',
    timeout: LIMIT_MS,
  })
  const isWhole = existsSync(counts) && !readFileSync(counts, 'utf8').includes('skipped')
  rmSync(counts, { force: true })
  if (error) return 'timed out'
  if (status !== 0) return 'failed'
  return isWhole ? 'passed' : 'skipped'
}

function mochaArguments(name, counts) {
  const mocha = join(root, 'node_modules/mocha/bin/mocha.js')
  const reporter = ['--reporter', '.ci/counting-reporter.cjs', '--reporter-option', `output=${counts}`]
  const spec = ['--config', 'test/prove/mocharc.cjs', '--spec', `test/prove/${name}${ENDING}`]
  return [mocha, ...reporter, ...spec, ...mochaOptions]
}

/** Replaces the row of a proof, or adds it. */
function record(name, cells) {
  const lines = readFileSync(page, 'utf8').trimEnd().split('\n')
  const rows = lines.filter((line) => line.startsWith('| ') && !line.startsWith(`| ${name} |`)).slice(2)
  const head = lines.slice(0, lines.findIndex((line) => line.startsWith('| ---')) + 1)
  writeFileSync(page, `${[...head, ...[...rows, `| ${cells.join(' | ')} |`].sort()].join('\n')}\n`)
}

function commit() {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const isChanged = git('status', '--porcelain', '--', '.', ':!docs/proofs.md') !== ''
  return git('rev-parse', '--short', 'HEAD') + (isChanged ? ', with changes' : '')
}

function fail(message) {
  console.error(message)
  process.exitCode = 1
}
