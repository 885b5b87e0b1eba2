import { openProject } from 'agent-host'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const FILES = {
  'agents/desk.yml': `id: desk
modules:
  - { id: embedder, module: embedder/local }
  - { id: index, module: memory/exact-index }
  - { id: notes, module: memory/vector-memory, config: { per_user: true } }
  - { id: main, module: noter }`,
  'agents/plain.yml': 'id: plain\nmodules: [{ id: main, module: echo }]',
  'modules/noter.ts': `import { defineModule, Memory, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Noter', provides: [TextMessageHandler], uses: { memory: Memory, response: Response },
  create: ({ memory, response }) => ({ async handleText(text, run) { await memory.store(text, {}, run); await response.respondText('ok') } }) })`,
}

describe('memory', () => {
  it('lists the entries of memories by tenant and user, and those of one', async () => {
    const { dir: projectDir } = await makeProject(FILES)
    const project = await openProject({ projectDir, logLevel: 'silent' })
    for (const [text, user, tenant] of [
      ['tea', 'ada', ''],
      ['Lima', 'bob', ''],
      ['coffee\n', 'ada', ''],
      ['maté', 'ada', 'acme'],
      ['nobody said it', undefined, ''],
    ] as const) {
      await project.host.run('desk', text, { user, tenant })
    }
    await project.close()
    const list = async (...args: string[]) => (await callCli(['memory', ...args], { cwd: projectDir })).stdout
    expect(await list()).equal(`desk/notes
  requests without a user: 1 entry
  ada: 2 entries
  bob: 1 entry
  ada, tenant acme: 1 entry
`)
    expect(await list('desk', '--user', 'ada')).equal('desk/notes\n  coffee\n  tea\n')
    expect(await list('desk', '--user', 'ada', '--tenant', 'acme')).equal('desk/notes\n  maté\n')
    expect(await list('--user', 'eve')).equal('desk/notes\n  Nothing is remembered.\n')
    expect(await list('plain')).equal('plain has no memory.\n')
    const { memories } = JSON.parse(await list('--json'))
    expect(memories[0]).deep.include({ agentId: 'desk', moduleId: 'notes' })
    expect((await callCli(['memory', 'dask'], { cwd: projectDir })).stderr).contain('dask')
  })
})
