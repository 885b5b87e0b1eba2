import { existsSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { badProject } from '../errors.ts'
import { repeatOnChange } from './agents/repeat-on-change.ts'
import { BaseCommand } from './base-command.ts'
import { runAgain } from './server/run-again.ts'

/** Has node:test name the file and line of a failing test, instead of those in its bundle. */
const SOURCE_MAPS = '--enable-source-maps'
const TEST_FILE = /\.test\.m?[jt]s$/

export default class Test extends BaseCommand {
  static override description = "Runs this project's tests (tests/**/*.test.ts) with node:test, without a build step."
  static override examples = [
    'agent-host test',
    'agent-host test tests/example.test.ts tests/agents',
    'agent-host test --watch --name "the tool"',
    'agent-host test --coverage',
  ]
  static override args = {
    files: Args.string({
      description: 'Test files or folders [default: tests/]',
      multiple: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    name: Flags.string({ description: 'Run only tests whose name matches this pattern', helpValue: '<pattern>' }),
    coverage: Flags.boolean({ description: 'Report which lines of the project the tests run; needs the package c8' }),
    watch: Flags.boolean({ description: 'Run the tests again when a file of the project changes' }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Test)
    const files = await findTests((args.files ?? []).map((file) => this.pathOf(file)))
    if (process.execArgv.includes(SOURCE_MAPS)) return this.#load(files)
    // node:test reads its options when the process starts.
    const pattern = flags.name === undefined ? [] : [`--test-name-pattern=${flags.name}`]
    const nodeOptions = [SOURCE_MAPS, ...pattern]
    const under = flags.coverage ? findCoverage() : []
    const runTests = () => runAgain(['test', ...files], { nodeOptions, under })
    if (flags.watch) return repeatOnChange(runTests)
    this.exit(await runTests())
  }

  async #load(files: readonly string[]): Promise<void> {
    const { ProjectCode } = await import('../module/project-code.ts')
    const code = new ProjectCode(process.cwd())
    // node:test runs the declared tests once a file is loaded, prints the outcome, and sets the exit code.
    for (const file of files) await code.load(file)
  }
}

/**
 * Finds the script of c8 in the project. What the tests load are bundles: `--exclude-after-remap` has c8 judge their sources.
 *
 * @throws HostError `PROJECT_INVALID`
 */
function findCoverage(): string[] {
  try {
    const script = createRequire(resolve('package.json')).resolve('c8/bin/c8.js')
    return [script, '--exclude-after-remap']
  } catch (cause) {
    throw badProject('--coverage needs the package c8, which this project does not have.', {
      suggestions: ['npm install --save-dev c8'],
      cause,
    })
  }
}

/** @throws HostError `PROJECT_INVALID` when a path is not there, or holds no test */
async function findTests(paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) {
    const files = existsSync('tests') ? await testsBelow('tests') : []
    if (files.length > 0) return files
    throw badProject('There are no tests: no file tests/*.test.ts.')
  }
  const found: string[] = []
  for (const path of paths) {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (!stats) throw badProject(`There is no file ${path}.`)
    const files = stats.isDirectory() ? await testsBelow(path) : [path]
    if (files.length === 0) throw badProject(`There are no tests in ${path}: no file *.test.ts.`)
    found.push(...files)
  }
  return [...new Set(found)]
}

async function testsBelow(folder: string): Promise<string[]> {
  // With types, links to folders are not followed: one may lead to a folder above.
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => TEST_FILE.test(entry.name) && !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
}
