import { execFileSync } from 'node:child_process'
import { rmSync, symlinkSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { runCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const VARIABLE = 'AGENT_HOST_LOG_LEVEL'

/** Values that no option takes: the error names the one that was used. */
async function usedLevel(from: { flag?: string; environment?: string; file?: string }): Promise<string | undefined> {
  const { dir } = await makeProject(from.file === undefined ? {} : { '.env': `${VARIABLE}=${from.file}\n` })
  const args = from.flag === undefined ? [] : ['--log-level', from.flag]
  const env: Record<string, string> = from.environment === undefined ? {} : { [VARIABLE]: from.environment }
  const { stderr } = await callCli(['serve', ...args], { cwd: dir, env })
  return /, not '(.*)'/.exec(stderr)?.[1]
}

describe('sources of an option', () => {
  it('the flag comes first', async () => {
    expect(await usedLevel({ flag: 'of-flag', environment: 'of-environment', file: 'of-file' })).to.equal('of-flag')
  })

  it('the environment comes next', async () => {
    expect(await usedLevel({ environment: 'of-environment', file: 'of-file' })).to.equal('of-environment')
  })

  it("then the project's .env", async () => {
    expect(await usedLevel({ file: 'of-file' })).to.equal('of-file')
  })

  it('the default applies if the variable is empty, even if .env has a value', async () => {
    expect(await usedLevel({ environment: '' })).to.equal(undefined)
    expect(await usedLevel({ environment: '', file: 'of-file' })).to.equal(undefined)
  })

  describe('.env', () => {
    const TEXT = 'A_WORD=first\r\nB_WORD=second\r\n'
    const AGENT = `id: e
modules:
  - { id: main, module: echo, config: { prefix: '\${A_WORD:-nothing} \${B_WORD:-nothing} ' } }
`

    async function answerWith(env: Buffer) {
      const project = await makeProject({ 'agents/e.yml': AGENT })
      await writeFile(project.path('.env'), env)
      return callCli(['chat', 'e', '--once', 'Hi'], { cwd: project.dir })
    }

    for (const [title, env] of Object.entries({
      'with a byte order mark': Buffer.from(`\ufeff${TEXT}`),
      'in UTF-16, as shells of Windows write it': Buffer.from(`\ufeff${TEXT}`, 'utf16le'),
    })) {
      it(`is read ${title}`, async () => {
        const { stdout, stderr } = await answerWith(env)
        expect({ stdout: stdout.trim(), stderr }).to.deep.equal({ stdout: 'first second Hi', stderr: '' })
      })
    }

    it('in another encoding is warned of, and its other lines are read', async () => {
      const { stdout, stderr } = await answerWith(Buffer.from('A_WORD=first\nB_WORD=\xe4\n', 'latin1'))
      expect(stdout).to.contain('first ')
      expect(stderr).to.equal('Warning: .env is not UTF-8 text. Save it as UTF-8.\n')
    })
  })

  it('a named pipe as .env is an error, at once; a link to a file is read', async () => {
    const { dir, path } = await makeProject({ 'mounted/env': `${VARIABLE}=of-link\n` })
    execFileSync('mkfifo', [path('.env')])
    const { exitCode, stderr } = await runCli(['check'], { cwd: dir })
    expect({ exitCode, stderr }).to.deep.equal({
      exitCode: 1,
      stderr: 'Error: Cannot read .env: it is not a regular file\n',
    })
    rmSync(path('.env'))
    symlinkSync('mounted/env', path('.env'))
    expect((await callCli(['serve'], { cwd: dir })).stderr).to.include("not 'of-link'")
  })

  it('an unreadable .env is an error with exit code 1', async () => {
    const { dir } = await makeProject({ '.env/file': '' })
    const { exitCode, stderr } = await runCli(['check'], { cwd: dir })
    expect(exitCode).to.equal(1)
    expect(stderr).to.match(/^Error: Cannot read \.env: .+\n$/)
  })
})
