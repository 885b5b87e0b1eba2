import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { HostError } from 'agent-host'
import { expect } from 'chai'
import { ProjectCode } from '../../src/module/project-code.ts'
import { eventually } from '../support/eventually.ts'
import { makeProject } from '../support/temp-project.ts'

async function load(files: Record<string, string>, entry = 'lib/main.ts') {
  const project = await makeProject(files)
  const code = new ProjectCode(project.dir)
  return { project, code, loaded: await code.load(entry) }
}

async function failure(
  files: Record<string, string>,
  entry = 'lib/main.ts',
): Promise<{ message: string; suggestions: readonly string[] }> {
  try {
    await load(files, entry)
  } catch (error) {
    if (error instanceof HostError) return { message: error.message, suggestions: error.suggestions }
    throw error
  }
  throw new Error('It was loaded.')
}

describe('ProjectCode', () => {
  it('runs TypeScript with its imports, and lists the files', async () => {
    const { project, loaded } = await load({
      'lib/main.ts':
        "import { half } from './half.js'\nimport data from './data.json'\nexport const value: number = half(data.n)",
      'lib/half.ts': 'export const half = (n: number): number => n / 2',
      'lib/data.json': '{ "n": 8 }',
    })
    expect(loaded.exports.value).to.equal(4)
    expect([...loaded.files].sort()).to.deep.equal(
      ['data.json', 'half.ts', 'main.ts'].map((name) => project.path(`lib/${name}`)),
    )
  })

  it('resolves agent-host to the running installation', async () => {
    const { loaded } = await load({ 'lib/main.ts': "export { HostError } from 'agent-host'" })
    expect(loaded.exports.HostError).to.equal(HostError)
  })

  it("shares the project's npm packages instead of bundling them, and falls back to agent-host's own", async () => {
    const { loaded } = await load({
      'node_modules/counter/package.json':
        '{ "name": "counter", "exports": { "import": "./in.mjs", "require": "./re.cjs" } }',
      'node_modules/counter/in.mjs': 'globalThis.loads = (globalThis.loads ?? 0) + 1\nexport const kind = "import"',
      'node_modules/counter/re.cjs': 'exports.kind = "require"',
      'lib/main.ts':
        "export { kind } from 'counter'\nexport { parse } from 'yaml'\nexport const other = await import('./other.ts')",
      'lib/other.ts': "export { kind } from 'counter'",
    })
    const { kind, other, parse } = loaded.exports as { kind: string; other: { kind: string }; parse: unknown }
    expect([kind, other.kind, typeof parse]).to.deep.equal(['import', 'import', 'function'])
    expect((globalThis as { loads?: number }).loads).to.equal(1)
  })

  it('preserves import.meta of each file', async () => {
    const { project, loaded } = await load({
      'lib/main.ts': "export { where } from './deep/file.ts'",
      'lib/deep/file.ts': 'export const where = [import.meta.url, import.meta.filename, import.meta.dirname]',
    })
    const file = project.path('lib/deep/file.ts')
    expect(loaded.exports.where).to.deep.equal([`file://${file}`, file, project.path('lib/deep')])
  })

  it('reports file and line of build and runtime errors', async () => {
    expect((await failure({ 'lib/main.ts': 'const a = 1\nconst b = = 2' })).message).to.equal(
      'lib/main.ts:2:11: Unexpected "="',
    )
    expect((await failure({ 'lib/main.ts': "\nimport './gone.ts'" })).message).to.equal(
      'lib/main.ts:2:8: Could not resolve "./gone.ts"',
    )
    expect(await failure({ 'lib/main.ts': "import 'no-such-thing/x'" })).to.deep.equal({
      message: "lib/main.ts:1:8: The package 'no-such-thing/x' is not installed.",
      suggestions: ['npm install no-such-thing'],
    })
    expect((await failure({ 'lib/main.ts': 'export {}\n\nthrow new Error("at load")' })).message).to.equal(
      'lib/main.ts:3:7: at load',
    )
  })

  it('rejects a named pipe that a file imports', async function () {
    if (process.platform === 'win32') this.skip()
    const { dir, path } = await makeProject({
      'lib/main.ts': "import './pipe.ts'",
      'lib/other.ts': "import './data.json'",
    })
    for (const name of ['pipe.ts', 'data.json']) execFileSync('mkfifo', [path(`lib/${name}`)])
    const code = new ProjectCode(dir)
    const failures = ['lib/main.ts', 'lib/other.ts'].map((file) => code.load(file).catch(({ message }) => message))
    expect(await Promise.all(failures)).to.deep.equal([
      'lib/main.ts:1:8: lib/pipe.ts is not a regular file.',
      'lib/other.ts:1:8: lib/data.json is not a regular file.',
    ])
  })

  it("maps later errors to the user's file and line", async () => {
    const { project, loaded } = await load({
      'lib/main.ts': "import { fail } from './fail.ts'\nexport const go = () => fail()",
      'lib/fail.ts': '// a comment\n\nexport function fail(): never {\n  throw new Error("late")\n}',
    })
    const { go } = loaded.exports as { go: () => void }
    expect(go)
      .to.throw(Error)
      .with.property('stack')
      .that.includes(`${project.path('lib/fail.ts')}:4:9`)
  })

  it('reloads only changed files', async () => {
    const { project, code, loaded } = await load({
      'lib/main.ts': "import { n } from './n.ts'\nexport const value = n",
      'lib/n.ts': 'export const n = 1',
    })
    expect(await code.load('lib/main.ts')).to.equal(loaded)
    await project.write('lib/n.ts', 'export const n = 2')
    expect((await code.load('lib/main.ts')).exports.value).to.equal(1)
    code.forget(new Set([project.path('lib/other.ts')]))
    expect(await code.load('lib/main.ts')).to.equal(loaded)
    code.forget(new Set([project.path('lib/n.ts')]))
    expect((await code.load('lib/main.ts')).exports.value).to.equal(2)
  })

  it('retries a failed file', async () => {
    const project = await makeProject({ 'a.ts': 'export const = 1' })
    const code = new ProjectCode(project.dir)
    await code.load('a.ts').catch(() => {})
    await project.write('a.ts', 'export const ok = 1')
    expect((await code.load('a.ts')).exports.ok).to.equal(1)
  })

  it('leaves no folder behind, and removes those of killed processes at the next start', async () => {
    const { dir, path } = await makeProject({
      'lib/main.ts': 'export default 1',
      'lib/hangs.ts': 'await new Promise(() => {})',
      'tmp/x': '',
    })
    const folders = () => readdirSync(path('tmp')).filter((name) => name.startsWith('agent-host-code-'))
    const earlier = process.env.TMPDIR
    process.env.TMPDIR = path('tmp')
    const [killed, living] = [startLoading(dir), startLoading(dir)]
    try {
      // As long as any process gets to start.
      await eventually(() => expect(folders()).to.have.lengthOf(2), 40_000)
      const gone = once(killed, 'exit')
      killed.kill('SIGKILL')
      await gone
      expect(folders()).to.have.lengthOf(2)
      expect((await new ProjectCode(dir).load('lib/main.ts')).exports.default).to.equal(1)
      expect(folders()).to.have.lengthOf(1)
      expect(living.exitCode).to.equal(null)
    } finally {
      living.kill('SIGKILL')
      if (earlier === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = earlier
    }
  })
})

/** A process that loads a file of the project which never finishes loading. */
function startLoading(dir: string): ChildProcess {
  const script = `import { ProjectCode } from ${JSON.stringify(new URL('../../src/module/project-code.ts', import.meta.url).href)}
    setInterval(() => {}, 1000)
    await new ProjectCode(${JSON.stringify(dir)}).load('lib/hangs.ts')`
  return spawn(process.execPath, [...process.execArgv, '--input-type=module', '-e', script], { stdio: 'inherit' })
}
