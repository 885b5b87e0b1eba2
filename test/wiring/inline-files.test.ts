import { execFileSync } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { AgentError, AgentHost } from 'agent-host'
import { expect } from 'chai'
import { AgentFolder } from '../../src/host/agent-folder/agent-folder.ts'
import { watchAgents } from '../../src/host/agent-folder/watch-agents.ts'
import { makeAgentFileSchema } from '../../src/module/editor-schema.ts'
import { silentLog } from '../../src/protocols/log.ts'
import { readTapeFile } from '../../src/tape/file/read-tape.ts'
import { pathOfTape } from '../../src/tape/file/tape-folder.ts'
import { eventually } from '../support/eventually.ts'
import { openRecordingHost, untilTaped } from '../support/tapes.ts'
import { makeProject } from '../support/temp-project.ts'

const SAYS = `import { defineModule, Response, TextMessageHandler, Type } from 'agent-host'
export default defineModule({ name: 'Says', provides: [TextMessageHandler], uses: { response: Response },
  config: Type.Object({ system_prompt: Type.String(), more: Type.Array(Type.String(), { default: [] }), options: Type.Record(Type.String(), Type.Unknown(), { default: {} }) }),
  create: ({ response }, { system_prompt, more, options }) => ({ async handleText() { await response.respondText([system_prompt, ...more, JSON.stringify(options)].join('|')) } }) })`
const agent = (config: string, id = 'support') => `id: ${id}
modules:
  - id: main
    module: says
    config: ${config}
`
const FILES = {
  'modules/says.ts': SAYS,
  'prompts/support.md': 'Be kind to ${NAME}.\nAlways.\n',
  'prompts/more.md': 'And $${ so on.',
}

describe('a prompt in a file', () => {
  async function makeHost(more: Readonly<Record<string, string>> = {}) {
    const project = await makeProject({ ...FILES, ...more })
    return { project, host: new AgentHost({ projectDir: project.dir, environment: { NAME: 'secret' } }) }
  }
  const problemsOf = async (host: AgentHost, config: string) => {
    const error = await host
      .register(agent(config), { file: 'agents/support.yml' })
      .catch((failure: unknown) => failure)
    expect(error).instanceOf(AgentError)
    return (error as AgentError).problems.map(({ line, message }) => `${line}: ${message}`)
  }

  it('is taken as it is written: its variables are not filled in, and several agents may share it', async () => {
    const { host } = await makeHost()
    await host.register(
      agent('{ system_prompt: { file: prompts/support.md }, more: [{ file: prompts/more.md }, plain] }'),
    )
    await host.register(agent('{ system_prompt: { file: prompts/support.md } }', 'other'))
    expect((await host.run('support', 'hi')).text).equal('Be kind to ${NAME}.\nAlways.|And $${ so on.|plain|{}')
    expect((await host.run('other', 'hi')).text).equal('Be kind to ${NAME}.\nAlways.|{}')
  })

  it('stands where a text is taken alone', async () => {
    const { host } = await makeHost()
    await host.register(agent('{ system_prompt: Hi, options: { upload: { file: a.md } } }'))
    expect((await host.run('support', 'hi')).text).equal('Hi|{"upload":{"file":"a.md"}}')
  })

  it('that cannot be read is a problem at its line', async () => {
    const { project, host } = await makeHost({ 'prompts/long.md': 'x'.repeat(257 * 1024), 'prompts/a.txt': 'a' })
    const outside = await makeProject({ 'secret.md': 'secret' })
    await symlink(outside.path('secret.md'), project.path('prompts/link.md'))
    await writeFile(project.path('prompts/latin.md'), Buffer.from([0x67, 0x72, 0xfc, 0x6e]))
    const told = async (file: string) => (await problemsOf(host, `{ system_prompt: { file: ${file} } }`)).join()
    const place = "5: module 'main' (says), config: system_prompt:"
    expect(await told('prompts/none.md')).equal(`${place} There is no file prompts/none.md.`)
    expect(await told('../secret.md')).equal(`${place} '../secret.md' is outside the project folder.`)
    expect(await told('prompts/link.md')).equal(`${place} 'prompts/link.md' is outside the project folder.`)
    expect(await told('prompts/a.txt')).equal(`${place} 'prompts/a.txt' is no Markdown file (.md).`)
    expect(await told('prompts/latin.md')).equal(`${place} prompts/latin.md is not UTF-8.`)
    expect(await told('prompts/long.md')).equal(
      `${place} prompts/long.md cannot be read: it has more than 262144 bytes.`,
    )
    await mkdir(project.path('prompts/folder.md'))
    expect(await told('prompts/folder.md')).equal(
      `${place} prompts/folder.md cannot be read: EISDIR: it is a directory.`,
    )
    if (process.platform === 'win32') return
    execFileSync('mkfifo', [project.path('prompts/pipe.md')])
    expect(await told('prompts/pipe.md')).equal(`${place} prompts/pipe.md cannot be read: it is not a regular file.`)
  })

  it('is part of the version, and followed live, also where it was missing', async () => {
    const { project, host } = await makeHost({
      'agents/support.yml': agent('{ system_prompt: { file: prompts/new.md } }'),
    })
    const folder = new AgentFolder(host, project.path('agents'), silentLog)
    await folder.scan()
    expect(host.list()).deep.equal([])
    const watching = await watchAgents(host, folder, silentLog, () => {})
    const edit = async (text: string) => {
      await project.write('prompts/new.md', text)
      await eventually(async () => expect((await host.run('support', 'hi')).text).equal(`${text}|{}`))
      return host.get('support')?.version
    }
    try {
      expect(await edit('One.')).not.equal(await edit('Two, and longer.'))
    } finally {
      await watching.close()
    }
  })

  it('may be changed by a variant, and is on the tape', async () => {
    const { dir } = await makeProject(FILES)
    const { host, close } = await openRecordingHost(dir)
    await host.register(agent('{ system_prompt: { file: prompts/support.md } }'))
    const variant = [{ module: 'main', path: ['system_prompt'], value: 'Be quick.' }]
    expect((await host.run('support', 'hi', { variant })).text).equal('Be quick.|{}')
    const { runId } = await host.run('support', 'hi')
    await untilTaped(dir, runId)
    await close()
    const { runs } = await readTapeFile(pathOfTape(dir, runId), 'tape')
    expect(JSON.stringify(runs[0]?.head.agent.definition)).contain('Be kind to $${NAME}.')
  })

  it('is known to the JSON Schema of agent files', async () => {
    const { project } = await makeHost()
    const schema = JSON.stringify(await makeAgentFileSchema(project.dir))
    expect(schema).contain('"system_prompt":{"anyOf":[{"type":"string"},{"type":"object","properties":{"file":')
  })
})
