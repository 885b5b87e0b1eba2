import { execFileSync } from 'node:child_process'
import fs, { writeFileSync } from 'node:fs'
import { mkdir, rename, symlink } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { setTimeout } from 'node:timers/promises'
import { AgentHost, type Run, ToolProvider } from 'agent-host'
import { expect } from 'chai'
import { AgentFolder } from '../../../src/host/agent-folder/agent-folder.ts'
import type { FileChange } from '../../../src/host/agent-folder/load-history.ts'
import { watchAgents } from '../../../src/host/agent-folder/watch-agents.ts'
import { eventually } from '../../support/eventually.ts'
import { makeProject, type TempProject } from '../../support/temp-project.ts'

const agent = (id: string, prefix = '') =>
  `id: ${id}\nmodules:\n  - { id: main, module: echo, config: { prefix: '${prefix}' } }\n`
const speaker = (text: string) => `import { defineModule, Response, TextMessageHandler } from 'agent-host'
import { suffix } from '../lib/suffix.ts'
export default defineModule({ name: 'Speaker', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText() { await response.respondText('${text}' + suffix) } }) })`

const own = (text: string) => `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Own', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText() { await response.respondText('${text}') } }) })`

describe('a watched agent folder', () => {
  let stop: (() => Promise<void>)[] = []

  /** @param whileStarting done when the agents were read, before anything is watched */
  async function serve(
    files: Record<string, string>,
    whileStarting?: (project: TempProject) => Promise<unknown>,
    isManual = false,
  ) {
    const project = await makeProject({ 'agents/.keep': '', ...files })
    const lines: string[] = []
    const log = {
      debug() {},
      info() {},
      warn: (line: string) => void lines.push(line),
      error: (line: string) => void lines.push(line),
    }
    const host = new AgentHost({ projectDir: project.dir, log })
    const folder = new AgentFolder(host, project.path('agents'), log)
    await folder.scan()
    await whileStarting?.(project)
    const changes: FileChange[] = []
    const watching = await watchAgents(host, folder, log, (news) => changes.push(...news), isManual)
    stop.push(async () => {
      await watching.close()
      await host.close(0)
    })
    const ask = async (id: string) => {
      try {
        return (await host.run(id, 'x')).text
      } catch (error) {
        return (error as Error).message
      }
    }
    return {
      project,
      host,
      folder,
      watching,
      lines,
      changes,
      ask,
      answers: (id: string, text: string) => eventually(async () => expect(await ask(id)).to.equal(text)),
    }
  }

  afterEach(async () => {
    for (const each of stop.splice(0)) await each()
    stop = []
  })

  const gone = (id: string) => `There is no agent '${id}'.`

  it('reports a broken module once that was saved together with a new agent', async () => {
    const { project, lines, answers } = await serve({ 'modules/.keep': '' })
    writeFileSync(project.path('modules/own.ts'), `import './gone.ts'\n${own('it')}`)
    writeFileSync(project.path('agents/a.yml'), 'id: a\nmodules:\n  - { id: main, module: own }\n')
    await eventually(() => expect(lines.join('\n')).to.include('Could not resolve "./gone.ts"'))
    await project.write('agents/b.yml', agent('b'))
    await answers('b', 'x')
    expect(lines).to.have.length(1)
    await project.write('modules/own.ts', own('it'))
    await answers('a', 'it')
  })

  it('follows edits by polling where CHOKIDAR_USEPOLLING is set, as folders of other machines need it', async () => {
    process.env.CHOKIDAR_USEPOLLING = '1'
    try {
      const { project, answers } = await serve({ 'agents/a.yml': agent('a', 'one ') })
      await project.write('agents/a.yml', agent('a', 'two '))
      await answers('a', 'two x')
      await project.write('agents/deep/b.yml', agent('b'))
      await answers('b', 'x')
    } finally {
      delete process.env.CHOKIDAR_USEPOLLING
    }
  })

  it('picks up added, changed and removed files, in folders of any depth', async () => {
    const { project, answers } = await serve({ 'agents/a.yml': agent('a') })
    await answers('a', 'x')
    await project.write('agents/deep/er/b.yaml', agent('b', '1'))
    await answers('b', '1x')
    await project.write('agents/deep/er/b.yaml', agent('b', '2'))
    await answers('b', '2x')
    await project.remove('agents/deep')
    await answers('b', gone('b'))
    await answers('a', 'x')
  })

  it('reports an agent whose file and code change together once', async () => {
    const { project, changes } = await serve({ 'modules/other.ts': own('x') })
    writeFileSync(project.path('modules/own.ts'), own('1'))
    writeFileSync(project.path('agents/a.yml'), 'id: a\nmodules:\n  - { id: main, module: own }\n')
    await eventually(() => expect(changes).to.deep.equal([{ file: 'agents/a.yml', kind: 'registered', id: 'a' }]))
  })

  it('reports an invalid file with its place, and keeps the last good version', async () => {
    const { project, folder, lines, ask, answers } = await serve({ 'agents/a.yml': agent('a', '1') })
    await project.write('agents/a.yml', 'id: a\nmodules:\n  - { id: main, module: ecko }\n')
    await eventually(() => expect(folder.problems()).to.have.lengthOf(1))
    expect(folder.problems()[0]).to.include({ file: 'agents/a.yml', line: 3, column: 17 })
    expect(lines[0]).to.match(/^agents\/a\.yml:3:17: module 'main': The module 'ecko' was not found/)
    expect(lines[0]).to.match(/Did you mean 'echo'\?/)
    expect(lines[0]).to.match(/The last good version of 'a' stays in service\.$/)
    expect(await ask('a')).to.equal('1x')
    await project.write('agents/a.yml', agent('a', '2'))
    await answers('a', '2x')
    expect(folder.problems()).to.deep.equal([])
  })

  it('reports code that breaks several agents once, with all of them', async () => {
    const uses = (id: string) => `id: ${id}\nmodules:\n  - { id: main, module: own }\n`
    const files = { 'agents/a.yml': uses('a'), 'agents/b.yml': uses('b'), 'modules/own.ts': own('x') }
    const { project, folder, lines, answers } = await serve(files)
    await project.write('modules/own.ts', 'const x = ;')
    await eventually(() => expect(folder.problems()).to.have.lengthOf(2))
    await eventually(() =>
      expect(lines).to.deep.equal([
        `agents/a.yml:3:17: module 'main': modules/own.ts:1:11: Unexpected ";"
  The same in agents/b.yml.
  The last good versions of 'a', 'b' stay in service.`,
      ]),
    )
    await project.write('modules/own.ts', own('y'))
    await answers('b', 'y')
  })

  it('rejects a second file with the same id until the first is removed', async () => {
    const { project, folder, ask, answers } = await serve({
      'agents/a.yml': agent('a', '1'),
      'agents/b.yml': agent('a', '2'),
    })
    expect(folder.problems().map(({ file, message }) => [file, message])).to.deep.equal([
      ['agents/b.yml', "The id 'a' is taken by the agent in agents/a.yml."],
    ])
    expect(await ask('a')).to.equal('1x')
    const seen = new Set<string>()
    await project.remove('agents/a.yml')
    await eventually(async () => {
      seen.add(await ask('a'))
      expect(seen.has('2x')).to.equal(true)
    })
    expect([...seen]).to.deep.equal(['1x', '2x'])
    await answers('a', '2x')
  })

  it('moves an agent whose id is edited, and frees its old id', async () => {
    const { project, folder, answers } = await serve({
      'agents/a.yml': agent('a', '1'),
      'agents/b.yml': agent('a', '2'),
    })
    await project.write('agents/a.yml', agent('c', '1'))
    await answers('c', '1x')
    await answers('a', '2x')
    await project.write('agents/a.yml', agent('a', '3'))
    await eventually(() => expect(folder.problems()).to.have.lengthOf(1))
    await answers('c', '1x')
    await answers('a', '2x')
  })

  it('never drops an agent whose file is rewritten, renamed or replaced', async () => {
    const { project, host, ask, answers } = await serve({ 'agents/a.yml': agent('a', '0') })
    const seen = new Set<string>()
    let watching = true
    const caller = (async () => {
      while (watching) {
        seen.add((await ask('a')).replace(/\d+/, 'n'))
        await setTimeout(1)
      }
    })()
    for (let save = 1; save <= 90; save++) {
      if (save % 3 === 0) await project.remove('agents/a.yml')
      if (save % 3 === 1) {
        await project.write('agents/.a.yml.tmp', agent('a', `${save}`))
        await project.move('agents/.a.yml.tmp', 'agents/a.yml')
      } else await project.write('agents/a.yml', agent('a', `${save}`))
      await setTimeout(save % 10)
    }
    await answers('a', '90x')
    await project.move('agents/a.yml', 'agents/b.yml')
    await eventually(() => expect(host.get('a')?.file).to.equal('agents/b.yml'))
    watching = false
    await caller
    expect([...seen]).to.deep.equal(['nx'])
  })

  it('follows project code, also outside of modules/, and an ejected module', async () => {
    const { project, answers } = await serve({
      'modules/speaker.ts': speaker('one'),
      'lib/suffix.ts': "export const suffix = '!'",
      'agents/a.yml': 'id: a\nmodules: [{ id: main, module: speaker }]',
      'agents/e.yml': 'id: e\nmodules: [{ id: main, module: echo }]',
    })
    await answers('a', 'one!')
    await project.write('modules/speaker.ts', speaker('two'))
    await answers('a', 'two!')
    await project.write('lib/suffix.ts', "export const suffix = '?'")
    await answers('a', 'two?')
    await project.write('modules/speaker.ts', 'export default 1 +')
    await setTimeout(200)
    await answers('a', 'two?')
    await project.write('modules/speaker.ts', speaker('three'))
    await answers('a', 'three?')
    await project.write('modules/echo.ts', speaker('mine'))
    await answers('e', 'mine?')
  })

  it('loses no edit of code that comes while the watch looks at it for the first time', async () => {
    const system: { statSync: unknown } = fs
    const { statSync } = fs
    let looks = 0
    const files = { 'agents/a.yml': 'id: a\nmodules: [{ id: main, module: own }]', 'modules/own.ts': own('1') }
    const { answers } = await serve(files, async ({ path }) => {
      system.statSync = (file: string, options: object) => {
        const seen = statSync(file, options)
        // At the second its time is read.
        if (file === path('modules/own.ts') && ++looks === 2) writeFileSync(file, own('2'))
        return seen
      }
      syncBuiltinESMExports()
      stop.push(async () => {
        system.statSync = statSync
        syncBuiltinESMExports()
      })
    })
    await answers('a', '2')
  })

  it('loads an agent once its missing code appears', async () => {
    const { project, folder, answers } = await serve({
      'agents/a.yml': 'id: a\nmodules: [{ id: main, module: ./lib/speaker.ts }]',
    })
    expect(folder.problems()).to.have.lengthOf(1)
    await project.write('lib/suffix.ts', "export const suffix = ''")
    await project.write('lib/speaker.ts', speaker('here'))
    await answers('a', 'here')
    await project.remove('lib/speaker.ts')
    await project.write('lib/speaker.ts', speaker('again'))
    await answers('a', 'again')
  })

  const uses = (code: string) => `id: a\nmodules: [{ id: main, module: ./${code} }]`

  it('loads code again that changed while no agent consisted of it', async () => {
    const { project, host, answers } = await serve({ 'agents/a.yml': uses('lib/own.ts'), 'lib/own.ts': own('one') })
    const forgotten = new Set<string>()
    const { forgetFiles } = host
    host.forgetFiles = (changed) => {
      for (const file of changed) forgotten.add(file)
      forgetFiles.call(host, changed)
    }
    await project.write('agents/a.yml', agent('a'))
    await answers('a', 'x')
    await project.write('lib/own.ts', own('two'))
    await eventually(() => expect([...forgotten]).to.deep.equal([project.path('lib/own.ts')]))
    await project.write('agents/a.yml', uses('lib/own.ts'))
    await answers('a', 'two')
  })

  for (const folder of ['lib', 'modules']) {
    it(`loads code of ${folder}/ again that changed while no agent consisted of it, where reloads are manual`, async () => {
      const code = `${folder}/own.ts`
      const files = { 'agents/a.yml': uses(code), [code]: own('one') }
      const { project, watching, ask } = await serve(files, undefined, true)
      await project.write('agents/a.yml', agent('a'))
      await watching.reload()
      await project.write(code, own('two'))
      await watching.reload()
      await project.write('agents/a.yml', uses(code))
      await watching.reload()
      expect(await ask('a')).to.equal('two')
    })
  }

  it('watches modules/ if it is created later', async () => {
    const { project, answers } = await serve({ 'agents/e.yml': 'id: e\nmodules: [{ id: main, module: echo }]' })
    await project.write('lib/suffix.ts', "export const suffix = ''")
    await project.write('modules/echo.ts', speaker('mine'))
    await answers('e', 'mine')
  })

  it('watches a folder again that was removed and recreated', async () => {
    const { project, answers } = await serve({ 'agents/a.yml': agent('a') })
    await project.remove('agents')
    await answers('a', gone('a'))
    await project.write('agents/b.yml', agent('b'))
    await answers('b', 'x')
    await project.write('agents/b.yml', agent('b', '2'))
    await answers('b', '2x')
  })

  it('does not disturb other agents: 200 random edits, and every call of the others is answered', async () => {
    const { project, host, answers } = await serve({ 'agents/still.yml': agent('still', 's') })
    let running = true
    let calls = 0
    const caller = (async () => {
      while (running) {
        expect((await host.run('still', 'x')).text).to.equal('sx')
        calls++
        await setTimeout(1)
      }
    })()
    let random = 7
    const next = (below: number) => {
      random = (random * 1103515245 + 12345) % 2147483648
      return random % below
    }
    for (let edit = 0; edit < 200; edit++) await editAtRandom(project, edit, next)
    await project.write('agents/f0.yml', agent('final', 'last'))
    await answers('final', 'lastx')
    running = false
    await caller
    expect(calls).to.be.above(100)
  })

  it('continues with other files if one fails unexpectedly', async () => {
    const { project, host, folder, answers, lines } = await serve({
      'agents/a.yml': agent('a'),
      'agents/b.yml': agent('b'),
    })
    const { register } = host
    host.register = async (source, options) => {
      if (options?.file === 'agents/new-a.yml') throw new TypeError('out of the blue')
      return register.call(host, source, options)
    }
    await Promise.all([
      project.write('agents/new-a.yml', agent('new-a')),
      project.write('agents/new-b.yml', agent('new-b')),
    ])
    await answers('new-b', 'x')
    expect(folder.problems()).to.deep.equal([
      { file: 'agents/new-a.yml', message: 'The agent failed to load: out of the blue', suggestions: [] },
    ])
    expect(lines.join('\n')).to.include('TypeError: out of the blue')
  })

  it('registers a changed file again after a program unregistered its agent', async () => {
    const { project, host, answers } = await serve({ 'agents/a.yml': agent('a'), 'agents/b.yml': agent('b') })
    host.unregister('a')
    await Promise.all([project.write('agents/a.yml', agent('a', '2')), project.write('agents/b.yml', agent('b', '2'))])
    await answers('a', '2x')
    await answers('b', '2x')
  })

  it('reloads other agents while the import of a module hangs', async () => {
    const { project, answers, ask, lines } = await serve({
      'agents/a.yml': agent('a'),
      'agents/own.yml': 'id: own\nmodules: [{ id: main, module: own }]',
      'modules/own.ts': own('own'),
    })
    await project.write('modules/stuck.ts', `await new Promise(() => {})\n${own('stuck')}`)
    await project.write('agents/stuck.yml', 'id: stuck\nmodules: [{ id: main, module: stuck }]')
    await eventually(() => expect(lines).to.deep.equal(['agents/stuck.yml is still loading. Other changes go ahead.']))
    const startMs = Date.now()
    await project.write('agents/a.yml', agent('a', '2'))
    await project.write('modules/own.ts', own('changed'))
    await answers('a', '2x')
    await answers('own', 'changed')
    expect(await ask('stuck')).to.equal(gone('stuck'))
    await project.write('modules/stuck.ts', own('loosened'))
    await answers('stuck', 'loosened')
    expect(Date.now() - startMs).to.be.below(8000)
  })

  it('reports an agent that was slow to load once it is registered', async () => {
    const { project, answers, changes } = await serve({})
    await project.write('modules/slow.ts', `await new Promise((resolve) => setTimeout(resolve, 1500))\n${own('slow')}`)
    await project.write('agents/slow.yml', 'id: slow\nmodules: [{ id: main, module: slow }]')
    await answers('slow', 'slow')
    await eventually(() => expect(changes).to.deep.equal([{ file: 'agents/slow.yml', kind: 'registered', id: 'slow' }]))
    await project.write('modules/slow.ts', own('fast'))
    await answers('slow', 'fast')
  })

  it('follows project code after a cleanup of temporary files', async () => {
    const { project, answers } = await serve({
      'tmp/.keep': '',
      'agents/own.yml': 'id: own\nmodules: [{ id: main, module: own }]',
    })
    const { TMPDIR } = process.env
    process.env.TMPDIR = project.path('tmp')
    try {
      await project.write('modules/own.ts', own('first'))
      await answers('own', 'first')
      await project.remove('tmp')
      await mkdir(project.path('tmp'))
      await project.write('modules/own.ts', own('second'))
      await answers('own', 'second')
    } finally {
      if (TMPDIR === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = TMPDIR
    }
  })

  it('rejects a named pipe in place of a file', async function () {
    if (process.platform === 'win32') this.skip()
    const { project, folder, answers } = await serve({ 'agents/a.yml': agent('a') })
    execFileSync('mkfifo', [project.path('agents/pipe.yml')])
    await mkdir(project.path('modules'))
    execFileSync('mkfifo', [project.path('modules/pipe.ts')])
    await project.write('agents/b.yml', 'id: b\nmodules: [{ id: main, module: pipe }]')
    await eventually(() =>
      expect(folder.problems()).to.deep.equal([
        {
          file: 'agents/b.yml',
          line: 2,
          column: 23,
          message: "module 'main': modules/pipe.ts is not a regular file.",
          suggestions: [],
        },
        {
          file: 'agents/pipe.yml',
          message: 'The file cannot be read: it is not a regular file',
          suggestions: [],
        },
      ]),
    )
    await project.write('agents/a.yml', agent('a', '2'))
    await answers('a', '2x')
  })

  it('follows a folder that an agent consists of, while it is missing too', async () => {
    const { project, ask, answers, changes } = await serve({
      'agents/a.yml': 'id: a\nmodules: [{ id: main, module: counter }]',
      'texts/one/a.txt': '1',
      'modules/counter.ts': `import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Counter', provides: [TextMessageHandler], scope: 'agent', create: (_, config, context) => {
  context.watchFile('texts')
  const names = readdirSync(join(context.projectDir, 'texts'), { recursive: true }).filter((name) => name.endsWith('.txt'))
  return { async handleText() { throw new Error(names.sort().join(' ')) } }
} })`,
    })
    await answers('a', 'one/a.txt')
    // The watch of a folder elsewhere is in place a moment after the start.
    let writes = 0
    await eventually(async () => {
      await project.write('texts/two/b.txt', `${writes++}`)
      expect(await ask('a')).to.equal('one/a.txt two/b.txt')
    })
    const loads = changes.length
    await project.write('texts/two/b.txt', '3, longer')
    await eventually(() => expect(changes.length).to.be.above(loads))
    await project.remove('texts')
    await eventually(() => expect(changes.at(-1)?.kind).to.equal('rejected'))
    await project.write('texts/c.txt', '4')
    await answers('a', 'c.txt')
  })

  it('does not walk a link that leads up from its folder, warns of it once, and follows edits beside it', async function () {
    if (process.platform === 'win32') this.skip()
    const { project, lines, answers } = await serve(
      { 'agents/a.yml': agent('a', '1'), 'tools/.keep': '' },
      async ({ path }) => {
        await symlink('/', path('agents/root'))
        await symlink('..', path('tools/up'))
      },
    )
    await project.write('agents/a.yml', agent('a', '2'))
    await answers('a', '2x')
    const warning = (link: string) =>
      `${link} is a link to a folder that contains it: nothing behind it is watched. Remove the link.`
    expect(lines.sort()).to.deep.equal([warning('agents/root'), warning('tools/up')])
  })

  it('follows what is behind other links: code in a folder elsewhere, and the agents of a mounted ConfigMap', async function () {
    if (process.platform === 'win32') this.skip()
    const { project, lines, answers } = await serve(
      {
        'lib/own.ts': own('1'),
        'modules/.keep': '',
        'agents/..2026_1/b.yml': agent('b', 'old '),
        'agents/..2026_2/b.yml': agent('b', 'new '),
      },
      async ({ path, write }) => {
        await symlink('../lib', path('modules/linked'))
        await symlink('..2026_1', path('agents/..data'))
        await symlink('..data/b.yml', path('agents/b.yml'))
        await write('agents/a.yml', 'id: a\nmodules: [{ id: main, module: linked/own }]')
      },
    )
    await answers('a', '1')
    await answers('b', 'old x')
    await project.write('lib/own.ts', own('2'))
    await answers('a', '2')
    await symlink('..2026_2', project.path('agents/..next'))
    await rename(project.path('agents/..next'), project.path('agents/..data'))
    await project.remove('agents/..2026_1')
    await answers('b', 'new x')
    expect(lines).to.deep.equal([])
  })

  it('reads a folder that an agent consists of with what links lead to, except where one leads up', async function () {
    if (process.platform === 'win32') this.skip()
    const elsewhere = await makeProject({ 'b.txt': 'text 0' })
    const { ask, answers } = await serve(
      {
        'modules/reader.ts': `import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Reader', provides: [TextMessageHandler], scope: 'agent', create: (_, config, context) => {
  context.watchFile('texts')
  const text = readFileSync(join(context.projectDir, 'texts/linked/b.txt'), 'utf8')
  return { async handleText() { throw new Error(text) } }
} })`,
        'texts/a.txt': '',
      },
      async ({ path, write }) => {
        await symlink('/', path('texts/root'))
        await symlink(elsewhere.dir, path('texts/linked'))
        await write('agents/a.yml', 'id: a\nmodules: [{ id: main, module: reader }]')
      },
    )
    await answers('a', 'text 0')
    // The watch of a folder elsewhere is in place a moment after the start.
    let writes = 0
    await eventually(async () => {
      await elsewhere.write('b.txt', `text ${'0'.repeat(++writes)}`)
      expect(await ask('a')).to.match(/^text 00/)
    })
  })

  it('follows the files of skills from the start on, reports one that became invalid, and keeps the last good version', async () => {
    const skill = (description: string) => `---\nname: refunds\ndescription: ${description}\n---\nDo it.\n`
    const files = {
      'agents/clerk.yml': `${agent('clerk')}  - { id: know, module: tools/skills }\n`,
      'skills/refunds/SKILL.md': skill('How to buy.'),
    }
    const { host, lines, project } = await serve(files, ({ write }) =>
      write('skills/refunds/SKILL.md', skill('How to refund.')),
    )
    const describes = async () => {
      const act = (tools: ToolProvider, run: Run) => tools.listTools(run)
      const tools = await host.callModule('clerk', { moduleId: 'know', protocol: ToolProvider, act })
      return tools?.[0]?.description
    }
    await eventually(async () => expect(await describes()).to.contain('How to refund.'))
    await project.write('skills/refunds/SKILL.md', skill('How to pay back.'))
    await eventually(async () => expect(await describes()).to.contain('How to pay back.'))
    await project.write('skills/refunds/SKILL.md', skill("''"))
    await eventually(() => expect(lines.join()).to.contain('skills/refunds/SKILL.md:3: description must be a text'))
    expect(await describes()).to.contain('How to pay back.')
  })

  it('reports a missing folder', async () => {
    const project = await makeProject()
    const host = new AgentHost({ projectDir: project.dir })
    const folder = new AgentFolder(host, project.path('agents'), { debug() {}, info() {}, warn() {}, error() {} })
    const error = await folder.scan().catch((thrown: Error) => thrown)
    expect((error as Error).message).to.equal(`The agent folder ${project.path('agents')} is not there.`)
  })

  describe('of agents that call each other', () => {
    const caller = (id: string, called: string) =>
      `${agent(id)}  - { id: team, module: tools/agents, config: { agents: [${called}] } }\n`

    it('warns of a name that means none when it is loaded, until there is one', async () => {
      const { folder, lines, project, ask } = await serve({ 'agents/desk.yml': caller('desk', 'billing') })
      const missing = /^agents\/desk\.yml:4:\d+: module 'team' \(tools\/agents\): there is no agent 'billing'/
      expect(lines).to.have.length(1)
      expect(lines[0]).to.match(missing)
      expect(await ask('desk')).to.equal('x')
      await project.write('agents/biling.yml', agent('biling'))
      await eventually(() => expect(folder.problems()[0]?.suggestions).to.deep.equal(["Did you mean 'biling'?"]))
      await project.write('agents/billing.yml', agent('billing'))
      await eventually(() => expect(folder.problems()).to.deep.equal([]))
      await project.write('agents/billing.yml', agent('payments'))
      await eventually(() => expect(lines).to.have.length(2))
      expect(lines[1]).to.match(missing)
    })

    it('takes one that was refused for a circle into service once the circle is gone', async () => {
      const { folder, lines, project, host } = await serve({
        'agents/a.yml': caller('a', 'b'),
        'agents/b.yml': caller('b', 'a'),
        'agents/c.yml': agent('c'),
      })
      const circle = () => lines.filter((line) => /^agents\/b\.yml:4:\d+: .* circle: b → a → b\./.test(line))
      expect(circle()).to.have.length(1)
      await project.write('agents/c.yml', agent('c', '>'))
      await eventually(async () => expect((await host.run('c', 'x')).text).to.equal('>x'))
      expect(circle()).to.have.length(1)
      await project.write('agents/a.yml', caller('a', 'c'))
      await eventually(() => expect(host.get('b')).to.include({ id: 'b' }))
      expect(folder.problems()).to.deep.equal([])
    })
  })
})

async function editAtRandom(project: TempProject, edit: number, next: (below: number) => number): Promise<void> {
  const file = `agents/f${next(5)}.yml`
  const kind = next(5)
  if (kind === 0 && project.exists(file)) await project.remove(file)
  else if (kind === 1) await project.write(file, 'id: broken\nmodules: [')
  else await project.write(file, agent(`g${next(5)}`, `${edit}`))
  await setTimeout(next(20))
}
