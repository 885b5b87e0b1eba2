import { spawnSync } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { expect } from 'chai'
import { RUN } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

/** A number that the list of users does not have. */
const UID = 48_213
const AGENT = 'id: hello\nmodules:\n  - { id: main, module: echo }\n'

function isPlayable(): boolean {
  if (process.getuid?.() !== 0) return false
  const script = 'require("fs").accessSync(process.argv[1])'
  return spawnSync(process.execPath, ['-e', script, RUN], { uid: UID, gid: UID }).status === 0
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv) {
  const { dir } = await makeProject({ 'agents/hello.yml': AGENT })
  await chmod(dir, 0o755)
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...args], {
    ...{ cwd: dir, uid: UID, gid: UID, encoding: 'utf8' as const },
    env: { PATH: process.env.PATH, ...env },
  })
  return { status, output: stdout + stderr }
}

;(isPlayable() ? describe : describe.skip)('a user whom the machine does not know', () => {
  const environments: Record<string, NodeJS.ProcessEnv> = {
    'neither HOME nor SHELL': {},
    'no SHELL': { HOME: '/' },
    'no HOME': { SHELL: '/bin/sh' },
    'empty ones': { HOME: '', SHELL: '' },
  }
  for (const [title, env] of Object.entries(environments)) {
    it(`runs commands with ${title}`, async () => {
      expect(await run(['check'], env)).to.deep.include({ status: 0 })
      expect(await run(['tool', '--agent', 'hello'], env))
        .to.have.property('output')
        .that.matches(/tool/i)
    })
  }

  it('is shown the help of a command', async () => {
    expect((await run(['check', '--help'], {})).status).to.equal(0)
  })
})
