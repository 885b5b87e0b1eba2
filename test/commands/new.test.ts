import { buildServer } from 'agent-host'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { runCli } from '../support/run-cli.ts'
import { chat } from '../support/server.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'

describe('new', () => {
  const make = async ({ dir }: TempProject, ...args: string[]) => {
    const { exitCode, stdout, stderr } = await callCli(['new', ...args], { cwd: dir })
    expect({ exitCode, stderr }).deep.equal({ exitCode: 0, stderr: '' })
    return stdout.split('\n')
  }

  it('makes no module in the place of one with another extension', async () => {
    const project = await makeProject({ 'agents/none.txt': '', 'modules/speech/greeter.js': 'export default 1' })
    const { exitCode, stderr } = await callCli(['new', 'module', 'speech/greeter'], { cwd: project.dir })
    expect([exitCode, stderr]).deep.equal([
      1,
      'Error: modules/speech/greeter.js already exists; nothing changed.\n  Choose another name, or edit that file.\n',
    ])
    expect(project.exists('modules/speech/greeter.ts')).equal(false)
  })

  it('scaffolds a working agent, tool and module', async () => {
    const project = await makeProject({ 'agents/none.txt': '' })
    expect((await make(project, 'agent', 'helper'))[0]).equal('Created agents/helper.yml.')
    expect((await make(project, 'tool', 'word-count'))[1]).contain('- tools/word-count.ts')
    expect((await make(project, 'module', 'speech/greeter'))[1]).contain('{ id: greeter, module: speech/greeter }')
    expect(project.exists('modules/index.ts') && project.exists('modules/speech/index.ts')).equal(true)
    await project.write(
      'agents/greeting.yml',
      'id: greeting\nmodules: [{ id: greeter, module: speech/greeter, config: { greeting: "Hi, " } }]',
    )
    const counting = (await project.read('agents/helper.yml'))
      .replace('id: helper', 'id: counting')
      .replace(/^ {2}# (?=[- ])(?!What|Who|The)/gm, '  ')
    await project.write('agents/counting.yml', counting)
    const { stdout, stderr } = await callCli(['check'], { cwd: project.dir })
    expect([stdout.split('\n').at(-2), stderr]).deep.equal(['3 agents, 0 problems', ''])
    const server = await buildServer({
      projectDir: project.dir,
      adapters: ['ChatCompatApiAdapter'],
      logLevel: 'silent',
    })
    const ask = async (model: string, text: string) => {
      const { body } = await server.app.inject({
        method: 'POST',
        url: '/compat/chat/completions',
        payload: chat(model, text),
      })
      return JSON.parse(body).choices[0].message.content as string
    }
    expect(await ask('greeting', 'you')).equal('Hi, you')
    expect(await ask('counting', 'Count the words of the text "one two three"')).contain('3')
    await server.close()
  })

  it('changes no existing file', async () => {
    const project = await makeProject({
      'agents/none.txt': '',
      'tools/mine.ts': 'export {}',
      'modules/index.ts': '// mine',
    })
    const { exitCode, stderr } = await runCli(['new', 'tool', 'mine'], { cwd: project.dir })
    expect([exitCode, stderr.split('\n')[0]]).deep.equal([1, 'Error: tools/mine.ts already exists; nothing changed.'])
    expect(await project.read('tools/mine.ts')).equal('export {}')
    await make(project, 'module', 'other')
    expect(await project.read('modules/index.ts')).equal('// mine')
  })

  it('scaffolds agents with a schema for editors', async () => {
    const project = await makeProject({ 'agents/none.txt': '' })
    await make(project, 'agent', 'helper')
    expect(await project.read('agents/helper.yml')).match(
      /^# yaml-language-server: \$schema=\.\.\/\.agent-host\/agent\.schema\.json\n/,
    )
  })

  it('scaffolds agents whose names are numbers and the like in YAML', async () => {
    const project = await makeProject({ 'agents/none.txt': '' })
    for (const name of ['123', '1e5', 'null', 'true']) await make(project, 'agent', name)
    const { stdout } = await callCli(['check'], { cwd: project.dir })
    expect(stdout.split('\n').at(-2)).equal('4 agents, 0 problems')
  })

  it('rejects names of tools that no function can have', async () => {
    const project = await makeProject({ 'agents/none.txt': '' })
    for (const [name, identifier] of [
      ['delete', 'delete'],
      ['await', 'await'],
      ['define-tool', 'defineTool'],
    ] as const) {
      const { exitCode, stderr } = await callCli(['new', 'tool', name], { cwd: project.dir })
      expect([exitCode, stderr]).deep.equal([
        2,
        `Error: A tool is a function of its name, and '${identifier}' has a meaning of its own there. Choose another.\n`,
      ])
      expect(project.exists(`tools/${name}.ts`)).equal(false)
    }
  })

  it('rejects names of files and folders that Windows reserves for devices', async () => {
    const { dir } = await makeProject({ 'agents/none.txt': '' })
    for (const name of ['aux/greeter', 'speech/nul']) {
      const { exitCode, stderr } = await callCli(['new', 'module', name], { cwd: dir })
      const message = `Error: '${name}' is no name for a file: Windows reserves it for a device.`
      expect([exitCode, stderr.split('\n')[0]]).deep.equal([2, message])
    }
  })
})
