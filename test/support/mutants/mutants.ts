import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { execa } from 'execa'
import { removeFolder } from '../temp-project.ts'
import { keyOf } from './drawn-checker.js'

const STRYKER = ['@stryker-mutator/core@9', '@stryker-mutator/mocha-runner@9']
/** Mutants live in one process: tests of others, and of clients in many versions, see none, or the same ones. */
const IN_PROCESS = '^(?!.*(killed|kill -9|random scripts|official client|work with the))'

/** A change of one expression. */
export interface Mutant {
  readonly key: string
  readonly file: string
  /** From 1 on. */
  readonly line: number
  readonly code: string
  readonly replacement: string
}

export interface TestedMutant extends Mutant {
  /** Of StrykerJS: `Killed`, `Timeout`, `Survived`, `NoCoverage`. */
  readonly status: string
}

interface Position {
  readonly line: number
  readonly column: number
}

interface Found {
  readonly location: { readonly start: Position; readonly end: Position }
  readonly replacement: string
}

interface Report {
  readonly files: Readonly<
    Record<
      string,
      { readonly mutants: readonly (Found & { readonly status: string; readonly replacement?: string })[] }
    >
  >
}

/** StrykerJS in a folder of its own, with the version of mocha that it works with. */
export class Mutation {
  readonly #dir: string

  private constructor(dir: string) {
    this.#dir = dir
  }

  static async install(): Promise<Mutation> {
    const dir = await mkdtemp(join(tmpdir(), 'agent-host-mutants-'))
    await writeFile(join(dir, 'package.json'), '{}')
    await execa('npm', ['install', '--no-fund', '--no-audit', ...STRYKER], { cwd: dir })
    return new Mutation(dir)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await removeFolder(this.#dir)
  }

  /** Lists every mutant of every file in these folders. */
  async list(folders: readonly string[]): Promise<Mutant[]> {
    const mutants: Mutant[] = []
    for (const file of folders.flatMap(listSources)) {
      const content = await readFile(file, 'utf8')
      for (const found of await this.#instrument(file, content)) mutants.push(toMutant(file, content, found))
    }
    return mutants
  }

  /** Tests mutants of a folder against test files. Progress goes to the output of this process. */
  async test(folder: string, tests: readonly string[], drawn: readonly Mutant[]): Promise<TestedMutant[]> {
    const dir = join(this.#dir, folder.replaceAll('/', '-'))
    await mkdir(dir)
    await writeFile(join(dir, 'drawn.json'), JSON.stringify(drawn.map(({ key }) => key)))
    await writeFile(join(dir, 'stryker.json'), JSON.stringify(this.#config(dir, folder, tests)))
    await execa('node', [this.#bin, 'run', join(dir, 'stryker.json')], {
      stdio: 'inherit',
      env: { DRAWN_MUTANTS: join(dir, 'drawn.json') },
    })
    const statuses = readStatuses(JSON.parse(await readFile(join(dir, 'report.json'), 'utf8')))
    return drawn.map((mutant) => ({ ...mutant, status: statuses.get(mutant.key) ?? 'not tested' }))
  }

  get #bin(): string {
    return join(this.#dir, 'node_modules/@stryker-mutator/core/bin/stryker.js')
  }

  async #instrument(file: string, content: string): Promise<Found[]> {
    const load = (name: string, path: string) => import(pathToFileURL(join(this.#dir, 'node_modules', name, path)).href)
    const { createInstrumenter } = await load('@stryker-mutator/instrumenter', 'dist/src/index.js')
    const { createInjector } = await load('typed-inject', 'dist/src/index.js')
    const quiet = { debug: () => {}, info: () => {}, isDebugEnabled: () => false }
    const instrumenter = createInjector().provideValue('logger', quiet).injectFunction(createInstrumenter)
    const options = { plugins: null, excludedMutations: [], ignorers: [] }
    const { mutants } = await instrumenter.instrument([{ name: file, mutate: true, content }], options)
    return mutants
  }

  #config(dir: string, folder: string, tests: readonly string[]) {
    const runner = join(this.#dir, 'node_modules/@stryker-mutator/mocha-runner/dist/src/index.js')
    return {
      testRunner: 'mocha',
      plugins: [runner, join(import.meta.dirname, 'drawn-checker.js')],
      checkers: ['drawn'],
      testRunnerNodeArgs: ['--import=tsx', '--conditions=agent-host-source', '--no-experimental-require-module'],
      mochaOptions: { 'no-config': true, grep: IN_PROCESS, require: ['./test/support/temp-project.ts'], spec: tests },
      mutate: [`${folder}/**/*.ts`],
      coverageAnalysis: 'perTest',
      // Otherwise it loads TypeScript, of which it knows no version 7.
      tsconfigFile: 'none.json',
      concurrency: 1,
      disableTypeChecks: false,
      reporters: ['progress-append-only', 'json'],
      jsonReporter: { fileName: join(dir, 'report.json') },
      tempDirName: join(dir, 'sandbox'),
      ignorePatterns: ['bench', 'docs', 'coverage'],
      allowConsoleColors: false,
    }
  }
}

/** Draws a number of mutants: the same ones for the same seed and code. */
export function draw(mutants: readonly Mutant[], count: number, seed: string): Mutant[] {
  const rank = ({ key }: Mutant) => createHash('sha256').update(`${seed}\n${key}`).digest('hex')
  const ranked = mutants.map((mutant) => ({ mutant, rank: rank(mutant) }))
  return ranked
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }) => mutant)
}

function listSources(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return files.filter((file) => file.endsWith('.ts')).map((file) => join(folder, file))
}

function toMutant(file: string, content: string, { location, replacement }: Found): Mutant {
  const lines = content.split('\n').slice(location.start.line, location.end.line + 1)
  const last = lines.length - 1
  lines[last] = lines[last]?.slice(0, location.end.column) ?? ''
  lines[0] = lines[0]?.slice(location.start.column) ?? ''
  const key = keyOf({ fileName: `/${file}`, location, replacement })
  return { key, file, line: location.start.line + 1, code: onOneLine(lines.join('\n')), replacement }
}

function onOneLine(code: string): string {
  return code.replace(/\s+/g, ' ')
}

/** Reports count lines and columns from 1 on. */
function readStatuses({ files }: Report): Map<string, string> {
  const back = ({ line, column }: Position) => ({ line: line - 1, column: column - 1 })
  return new Map(
    Object.entries(files).flatMap(([file, { mutants }]) =>
      mutants.map(({ location: { start, end }, replacement, status }): [string, string] => [
        keyOf({ fileName: `/${file}`, location: { start: back(start), end: back(end) }, replacement }),
        status,
      ]),
    ),
  )
}
