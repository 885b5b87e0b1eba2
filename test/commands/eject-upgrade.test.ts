import { readFileSync } from 'node:fs'
import { chmod, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { edit, makeEjected, makeOlder, readTree } from '../support/eject.ts'
import { itWith } from '../support/it-with.ts'
import { type CliOptions, runCli } from '../support/run-cli.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const LIBRARY_ECHO = readFileSync(new URL('../../modules/echo.ts', import.meta.url), 'utf8')
const NAME = "name: 'Echo'"
const REPLY = 'config.prefix + text)'
const MY_REPLY = 'config.prefix + text.toUpperCase())'
const COPY = 'modules/echo.ts'
const BASE = '.agent-host/ejected/echo.ts'
const WITHOUT_GIT = { PATH: '/nowhere' }

/** `echo` as if it had been ejected from 0.0.1, where it had another name. */
async function makeOldEcho(): Promise<TempProject> {
  const project = await makeEjected('echo')
  await makeOlder(project, 'echo.ts', NAME, "name: 'OldEcho'")
  return project
}

const upgrade = ({ dir }: TempProject, args: string[] = [], options: CliOptions = {}) =>
  callCli(['eject', 'upgrade', ...args], { cwd: dir, ...options })
const diff = ({ dir }: TempProject, args: string[] = [], options: CliOptions = {}) =>
  callCli(['eject', 'diff', ...args], { cwd: dir, ...options })

describe('eject diff', () => {
  it('reports unchanged files without git', async () => {
    const { dir } = await makeEjected('echo')
    expect(await runCli(['eject', 'diff'], { cwd: dir, env: WITHOUT_GIT })).to.deep.equal({
      exitCode: 0,
      stdout: `modules/echo.ts: ejected from ${version}; unchanged here, the same in agent-host ${version}\n`,
      stderr: '',
    })
  })

  itWith('git', 'shows your changes and those of agent-host', async () => {
    const project = await makeOldEcho()
    await edit(project, COPY, REPLY, MY_REPLY)
    const { exitCode, stdout } = await diff(project)
    expect(exitCode).to.equal(0)
    const lines = stdout.split('\n')
    expect(lines[0]).to.equal(`modules/echo.ts: ejected from 0.0.1; changed here, changed in agent-host ${version}`)
    expect(lines.filter((line) => /^[-+]/.test(line))).to.deep.equal([
      '--- ejected/echo.ts',
      '+++ modules/echo.ts',
      '-      await response.respondText(config.prefix + text)',
      '+      await response.respondText(config.prefix + text.toUpperCase())',
      '--- ejected/echo.ts',
      `+++ agent-host-${version}/echo.ts`,
      "-  name: 'OldEcho',",
      "+  name: 'Echo',",
    ])
  })

  it('neither shows nor overwrites the target of a link in place of a base', async () => {
    const project = await makeOldEcho()
    await project.write('elsewhere.txt', 'canary')
    await rm(project.path(BASE))
    await symlink(project.path('elsewhere.txt'), project.path(BASE))
    expect((await diff(project)).stdout).to.not.contain('canary')
    await rm(project.path(COPY))
    const again = await callCli(['eject', '-m', 'echo'], { cwd: project.dir })
    expect([again.exitCode, again.stderr]).to.deep.equal([
      1,
      `Error: ${project.dir} cannot be written: ${BASE} is a link. Remove it.\n`,
    ])
    expect(await project.read('elsewhere.txt')).to.equal('canary')
  })

  it('takes no name of a folder for a part of an address: a file of others is none of the library', async () => {
    const project = await makeProject()
    await project.write('package.txt', 'canary')
    for (const path of ['%2e%2e/package.json', `file:${project.path('package.txt')}`, '%zz.txt']) {
      await project.write(`modules/${path}`, 'copy')
      await project.write(`.agent-host/ejected/${path}`, 'copy')
    }
    const { exitCode, stdout, stderr } = await diff(project)
    expect([exitCode, stderr, stdout.match(/no longer in/g)?.length]).to.deep.equal([0, '', 3])
    expect(stdout).to.not.match(/canary|"name"/)
    expect((await upgrade(project)).stdout).to.not.contain('updated')
    expect(await project.read(`modules/file:${project.path('package.txt')}`)).to.equal('copy')
  })

  it('accepts names of ejected modules and packages, and rejects others', async () => {
    const project = await makeEjected('echo', 'llm/mock')
    expect((await diff(project, ['llm'])).stdout).to.match(/^modules\/llm\/mock\.ts: .*\n$/)
    expect(await diff(project, ['llm/auto', 'echo'])).to.deep.equal({
      exitCode: 1,
      stdout: '',
      stderr: `Error: There is no module 'llm/auto' among the ejected ones.
  \`agent-host eject list\` lists them. Nothing was changed.
`,
    })
  })

  it("says that nothing is ejected, and skips the project's own files", async () => {
    expect((await diff(await makeProject())).stdout).to.equal('Nothing is ejected.\n')
    const own = await makeProject({ [COPY]: 'export default 1' })
    expect((await diff(own)).stdout).to.equal('Nothing is ejected.\n')
    expect((await diff(own, ['echo'])).stdout).to.match(/its original is missing from \.agent-host\/ejected/)
  })

  it('reports that git is needed but missing', async () => {
    expect(await diff(await makeOldEcho(), [], { env: WITHOUT_GIT })).to.deep.equal({
      exitCode: 1,
      stdout: '',
      stderr: `Error: git compares and merges the files, and there is no git on this machine.
  Install it (https://git-scm.com), and try again. Nothing was changed.
`,
    })
  })
})

describe('eject upgrade', () => {
  it('leaves files without a new version untouched', async () => {
    const project = await makeEjected('llm', 'tools')
    await edit(project, 'modules/llm/mock.ts', 'export default', '// mine\nexport default')
    const before = await readTree(project.dir)
    const { exitCode, stdout } = await upgrade(project)
    expect([exitCode, new Set(stdout.match(/^\w+/gm))]).to.deep.equal([0, new Set(['current'])])
    expect(await readTree(project.dir)).to.deep.equal(before)
  })

  it('updates unchanged copies without git', async () => {
    const project = await makeOldEcho()
    expect(await upgrade(project, [], { env: WITHOUT_GIT })).to.deep.equal({
      exitCode: 0,
      stdout: `updated  modules/echo.ts (0.0.1 -> ${version})\n`,
      stderr: '',
    })
    expect(await project.read(COPY)).to.equal(`// ejected from agent-host ${version}: echo.ts\n${LIBRARY_ECHO}`)
    expect(await project.read(BASE)).to.equal(LIBRARY_ECHO)
  })

  itWith('git', 'merges your changes with the new version, and has nothing to do afterwards', async () => {
    const project = await makeOldEcho()
    await edit(project, COPY, REPLY, MY_REPLY)
    await chmod(project.path(COPY), 0o600)
    expect(await runCli(['eject', 'upgrade'], { cwd: project.dir })).to.deep.equal({
      exitCode: 0,
      stdout: `merged   modules/echo.ts (0.0.1 -> ${version})\n`,
      stderr: '',
    })
    const merged = `// ejected from agent-host ${version}: echo.ts\n${LIBRARY_ECHO.replace(REPLY, MY_REPLY)}`
    expect([await project.read(COPY), await project.read(BASE)]).to.deep.equal([merged, LIBRARY_ECHO])
    expect((await stat(project.path(COPY))).mode & 0o777).to.equal(0o600)
    expect((await upgrade(project)).stdout).to.equal('current  modules/echo.ts\n')
  })

  it('changes only the version line if the text is the same', async () => {
    const project = await makeEjected('echo')
    const text = (await project.read(COPY)).replace(`agent-host ${version}`, 'agent-host 0.0.1')
    await project.write(COPY, text.replace(REPLY, MY_REPLY))
    expect((await upgrade(project)).stdout).to.equal(`updated  modules/echo.ts (0.0.1 -> ${version})\n`)
    expect(await project.read(COPY)).to.equal(
      text.replace('agent-host 0.0.1', `agent-host ${version}`).replace(REPLY, MY_REPLY),
    )
  })

  itWith('git', 'marks conflicts, lists the files, exits with 1, and leaves them until they are resolved', async () => {
    const project = await makeOldEcho()
    await edit(project, COPY, "name: 'OldEcho'", "name: 'MyEcho'")
    const first = await upgrade(project)
    expect(first).to.deep.equal({
      exitCode: 1,
      stdout: `conflict modules/echo.ts (0.0.1 -> ${version}): both sides have changed the same lines: look for <<<<<<<\n`,
      stderr: 'By hand: modules/echo.ts\n',
    })
    const marked = `// ejected from agent-host ${version}: echo.ts\n${LIBRARY_ECHO}`.replace(
      "  name: 'Echo',\n",
      `<<<<<<< modules/echo.ts\n  name: 'MyEcho',\n=======\n  name: 'Echo',\n>>>>>>> agent-host ${version}\n`,
    )
    expect([await project.read(COPY), await project.read(BASE)]).to.deep.equal([marked, LIBRARY_ECHO])
    const second = await upgrade(project)
    expect([second.exitCode, second.stdout]).to.deep.equal([
      1,
      'left     modules/echo.ts: it still has conflicts from before: look for <<<<<<<\n',
    ])
    expect(await project.read(COPY)).to.equal(marked)
    await project.write(COPY, marked.replace(/<{7}.*\n|={7}\n(.*\n)>{7}.*\n/g, ''))
    expect(await upgrade(project)).to.include({ exitCode: 0, stdout: 'current  modules/echo.ts\n' })
  })

  itWith('git', '--dry-run prints the same, and writes nothing', async () => {
    const project = await makeOldEcho()
    await edit(project, COPY, "name: 'OldEcho'", "name: 'MyEcho'")
    const before = await readTree(project.dir)
    const dry = await upgrade(project, ['--dry-run'])
    expect(await readTree(project.dir)).to.deep.equal(before)
    const { exitCode, stdout, stderr } = await upgrade(project)
    expect(dry).to.deep.equal({ exitCode, stdout: `${stdout}Nothing was written.\n`, stderr })
  })

  itWith('git', 'keeps line endings and a missing final newline', async () => {
    for (const change of [
      (text: string) => text.replaceAll('\n', '\r\n'),
      (text: string) => text.trimEnd(),
      (text: string) => text.trimEnd().replaceAll('\n', '\r\n'),
      (text: string) => text.replace(MY_REPLY, `${MY_REPLY} // Gr\xfc\xdfe`),
    ]) {
      const project = await makeOldEcho()
      await edit(project, COPY, REPLY, MY_REPLY)
      await writeFile(project.path(COPY), change(await project.read(COPY)), 'latin1')
      const { exitCode, stdout } = await upgrade(project)
      expect([exitCode, stdout]).to.deep.equal([0, `merged   modules/echo.ts (0.0.1 -> ${version})\n`])
      const { [COPY]: bytes } = await readTree(project.dir)
      expect(bytes).to.equal(
        change(`// ejected from agent-host ${version}: echo.ts\n${LIBRARY_ECHO.replace(REPLY, MY_REPLY)}`),
      )
    }
  })

  it('leaves a file whose base is missing, and says so', async () => {
    const project = await makeOldEcho()
    await project.remove(BASE)
    const before = await readTree(project.dir)
    for (const args of [[], ['echo']]) {
      expect(await upgrade(project, args)).to.deep.equal({
        exitCode: 1,
        stdout: 'left     modules/echo.ts: its original is missing from .agent-host/ejected, so it cannot be merged\n',
        stderr: 'By hand: modules/echo.ts\n',
      })
    }
    expect(await readTree(project.dir)).to.deep.equal(before)
  })

  it('leaves files that agent-host no longer has, and says so', async () => {
    const project = await makeProject({
      'modules/old/thing.ts': '// ejected from agent-host 0.0.1: old/thing.ts\nexport {}\n',
      '.agent-host/ejected/old/thing.ts': 'export {}\n',
    })
    const before = await readTree(project.dir)
    expect(await upgrade(project, ['old.thing'])).to.deep.equal({
      exitCode: 0,
      stdout: `left     modules/old/thing.ts: agent-host ${version} has no such file\n`,
      stderr: '',
    })
    expect(await readTree(project.dir)).to.deep.equal(before)
  })

  it('adds the imports of a new version, but not files that you removed', async () => {
    const project = await makeEjected('llm/offline')
    for (const file of ['offline-choice', 'offline-arguments']) await project.remove(`modules/llm/lib/${file}.ts`)
    await project.remove('.agent-host/ejected/llm/lib/offline-choice.ts')
    const { exitCode, stdout } = await upgrade(project)
    expect([exitCode, stdout]).to.deep.equal([
      0,
      'current  modules/llm/offline.ts\ncreated  modules/llm/lib/offline-choice.ts\n',
    ])
    expect(Object.keys(await readTree(project.dir)).filter((file) => /lib\/offline/.test(file))).to.deep.equal([
      '.agent-host/ejected/llm/lib/offline-arguments.ts',
      '.agent-host/ejected/llm/lib/offline-choice.ts',
      'modules/llm/lib/offline-choice.ts',
    ])
  })

  it('writes nothing if git is missing but needed for one file', async () => {
    const project = await makeOldEcho()
    await callCli(['eject', '-m', 'llm/mock'], { cwd: project.dir })
    await makeOlder(project, 'llm/mock.ts', 'Replies with a script', 'Replied with a script')
    await edit(project, 'modules/llm/mock.ts', 'export default', '// mine\nexport default')
    const before = await readTree(project.dir)
    const { exitCode, stderr } = await upgrade(project, [], { env: WITHOUT_GIT })
    expect(exitCode).to.equal(1)
    expect(stderr).to.match(/there is no git on this machine/)
    expect(await readTree(project.dir)).to.deep.equal(before)
  })
})
