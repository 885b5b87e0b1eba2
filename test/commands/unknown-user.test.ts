import { expect } from 'chai'
import { describeOtherUser, makeOthersProject, runAsOther } from '../support/other-user.ts'

const files = { 'agents/hello.yml': 'id: hello\nmodules:\n  - { id: main, module: echo }\n' }

describeOtherUser('a user whom the machine does not know', () => {
  const environments: Record<string, NodeJS.ProcessEnv> = {
    'neither HOME nor SHELL': {},
    'no SHELL': { HOME: '/' },
    'no HOME': { SHELL: '/bin/sh' },
    'empty ones': { HOME: '', SHELL: '' },
  }
  for (const [title, env] of Object.entries(environments)) {
    it(`runs commands with ${title}`, async () => {
      const project = await makeOthersProject(files)
      expect(runAsOther(['check'], project, env)).to.deep.include({ status: 0 })
      const { stdout } = runAsOther(['chat', 'hello', '--once', 'Hi'], project, env)
      expect(stdout).to.contain('Hi')
    })
  }

  it('is shown the help of a command', async () => {
    expect(runAsOther(['check', '--help'], await makeOthersProject({})).status).to.equal(0)
  })
})
