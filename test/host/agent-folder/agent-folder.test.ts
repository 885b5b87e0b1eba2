import { setTimeout } from 'node:timers/promises'
import { AgentHost } from 'agent-host'
import { expect } from 'chai'
import { AgentFolder } from '../../../src/host/agent-folder/agent-folder.ts'
import type { FileChange } from '../../../src/host/agent-folder/load-history.ts'
import { eventually } from '../../support/eventually.ts'
import { makeProject } from '../../support/temp-project.ts'

const agent = (id: string, prefix: string) =>
  `id: ${id}\nmodules:\n  - { id: main, module: echo, config: { prefix: '${prefix} ' } }\n`
const broken = (id: string) => `id: ${id}\nmodules:\n  - { id: main, module: ecko }\n`
const slow = (id: string) => `id: ${id}\nmodules:\n  - { id: main, module: slow }\n`
const gone = (id: string) => `There is no agent '${id}'.`

/** In milliseconds: for steps in which the only file to load waits at the gate. */
const PATIENCE_MS = 30

describe('an agent folder', () => {
  let close: () => Promise<void>
  let openGate: (failure?: string) => void

  async function open(files: Record<string, string>) {
    const gate = new Promise<string | undefined>((resolve) => {
      openGate = resolve
    })
    Object.assign(globalThis, { gateOfSlowModule: gate })
    const project = await makeProject({
      ...files,
      'modules/slow.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
const failure = await globalThis.gateOfSlowModule
if (failure) throw new Error(failure)
export default defineModule({ name: 'Slow', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText() { await response.respondText('slow') } }) })`,
    })
    const lines: string[] = []
    const warn = (line: string) => void lines.push(line)
    const log = { debug() {}, info() {}, warn, error: warn }
    const host = new AgentHost({ projectDir: project.dir, log })
    const folder = new AgentFolder(host, project.path('agents'), log)
    const late: FileChange[] = []
    folder.onLateChange((changes) => late.push(...changes))
    close = () => host.close(0)
    await folder.scan()
    /** Writes files, and removes those of the value null, in one step. */
    const change = async (news: Record<string, string | null>, patienceMs = Infinity) => {
      const missing = new Set<string>()
      for (const [file, text] of Object.entries(news)) {
        if (text === null) await project.remove(file)
        else await project.write(file, text)
        if (text === null) missing.add(project.path(file))
      }
      return folder.update(Object.keys(news).map(project.path), missing, patienceMs)
    }
    const ask = (id: string) =>
      host.run(id, 'x').then(
        ({ text }) => text,
        (error: Error) => error.message,
      )
    return { project, host, folder, lines, late, change, ask }
  }

  afterEach(async () => {
    openGate()
    await close()
    Reflect.deleteProperty(globalThis, 'gateOfSlowModule')
  })

  describe('whose file is renamed and refused in one step', () => {
    const renamed = async () => {
      const opened = await open({ 'agents/a.yml': agent('a', '1') })
      await opened.change({ 'agents/a.yml': null, 'agents/b.yml': broken('a') })
      return opened
    }

    it('keeps the last good version, with its text, until the file is mended', async () => {
      const { folder, lines, change, ask } = await renamed()
      expect(await ask('a')).to.equal('1 x')
      expect(lines.join()).to.match(/The last good version of 'a' stays in service\.$/)
      expect(folder.sourceOf('a')).to.equal(agent('a', '1'))
      await change({ 'agents/b.yml': agent('a', '2') })
      expect(await ask('a')).to.equal('2 x')
      expect(folder.problems()).to.deep.equal([])
      expect(folder.history.records.at(-1)?.replaced?.text).to.equal(agent('a', '1'))
    })

    it('takes the agent out of service when the file is removed', async () => {
      const { change, ask } = await renamed()
      await change({ 'agents/b.yml': null })
      expect(await ask('a')).to.equal(gone('a'))
    })
  })

  it('serves a file that is renamed, loads slowly, and is edited meanwhile', async () => {
    const { folder, change, ask } = await open({ 'agents/a.yml': agent('a', '1') })
    await change({ 'agents/a.yml': null, 'agents/b.yml': slow('a') }, PATIENCE_MS)
    expect(await ask('a')).to.equal('1 x')
    await change({ 'agents/b.yml': agent('a', '2') })
    expect(await ask('a')).to.equal('2 x')
    expect(folder.problems()).to.deep.equal([])
  })

  it('unregisters the agent of a removed file whose id another served file claims in vain', async () => {
    const { change, ask } = await open({ 'agents/a.yml': agent('a', '1'), 'agents/b.yml': agent('b', '1') })
    await change({ 'agents/a.yml': null, 'agents/b.yml': broken('a') })
    expect(await ask('a')).to.equal(gone('a'))
    expect(await ask('b')).to.equal('1 x')
  })

  it('unregisters the agent of a removed file whose id another served file claimed only for a moment', async () => {
    const { change, ask } = await open({ 'agents/a.yml': agent('a', '1'), 'agents/b.yml': agent('b', '1') })
    await change({ 'agents/a.yml': null, 'agents/b.yml': slow('a') }, PATIENCE_MS)
    await change({ 'agents/b.yml': agent('b', '2') })
    expect(await ask('b')).to.equal('2 x')
    expect(await ask('a')).to.equal(gone('a'))
  })

  describe('of which a file waits for the id of another', () => {
    it('puts a successor that loads slowly in the place of the removed agent, without a gap', async () => {
      const { folder, late, change, ask } = await open({ 'agents/a.yml': agent('a', '1') })
      await change({ 'agents/b.yml': slow('a') }, PATIENCE_MS)
      await change({ 'agents/a.yml': null }, PATIENCE_MS)
      expect(await ask('a')).to.equal('1 x')
      openGate()
      await eventually(() => expect(late).to.deep.equal([{ file: 'agents/b.yml', kind: 'registered', id: 'a' }]))
      expect(await ask('a')).to.equal('slow')
      expect(folder.problems()).to.deep.equal([])
    })

    it('puts a served file in the place of the removed agent that loads slowly, and frees its own id', async () => {
      const { change, ask } = await open({ 'agents/a.yml': agent('a', '1'), 'agents/b.yml': agent('b', '1') })
      await change({ 'agents/b.yml': slow('a') }, PATIENCE_MS)
      await change({ 'agents/a.yml': null }, PATIENCE_MS)
      openGate()
      await eventually(async () => expect(await ask('a')).to.equal('slow'))
      expect(await ask('b')).to.equal(gone('b'))
    })

    it('unregisters the removed agent when a slow successor is refused', async () => {
      const { folder, change, ask } = await open({ 'agents/a.yml': agent('a', '1') })
      await change({ 'agents/b.yml': slow('a') }, PATIENCE_MS)
      await change({ 'agents/a.yml': null }, PATIENCE_MS)
      openGate('out of order')
      await eventually(async () => expect(await ask('a')).to.equal(gone('a')))
      expect(folder.problems()[0]?.message).to.include('out of order')
      await change({ 'agents/b.yml': agent('a', '2') })
      expect(await ask('a')).to.equal('2 x')
    })

    it('goes on to the next when the first is refused', async () => {
      const files = { 'agents/a.yml': agent('a', '1'), 'agents/b.yml': broken('a'), 'agents/c.yml': agent('a', '3') }
      const { change, ask } = await open(files)
      await change({ 'agents/a.yml': null })
      expect(await ask('a')).to.equal('3 x')
    })

    it('leaves the id to its successor when the removed file was loading', async () => {
      const { folder, change, ask } = await open({ 'agents/a.yml': agent('a', '1'), 'agents/c.yml': agent('a', '3') })
      await change({ 'agents/a.yml': slow('a') }, PATIENCE_MS)
      await change({ 'agents/a.yml': null })
      await eventually(async () => expect(await ask('a')).to.equal('3 x'))
      openGate()
      await change({ 'agents/d.yml': agent('d', '4') })
      expect(await ask('a')).to.equal('3 x')
      expect(folder.problems()).to.deep.equal([])
    })
  })

  describe('in which a text is read while the one before still loads', () => {
    /** The load of the first text ends when both files of the next change are read, and before the second is loaded. */
    const readMeanwhile = async (isFirstRefused: boolean) => {
      const opened = await open({ 'agents/a.yml': agent('a', '1') })
      const { host, change } = opened
      const { register } = host
      let end = () => {}
      const isRead = new Promise<void>((resolve) => {
        end = resolve
      })
      host.register = async (source, options) => {
        if (options?.file !== 'agents/z.yml') {
          end()
          await setTimeout(5)
          return register.call(host, source, options)
        }
        const info = await register.call(host, source, options)
        await isRead
        if (isFirstRefused) throw new Error('refused at last')
        return info
      }
      await change({ 'agents/z.yml': agent('z', '1') }, PATIENCE_MS)
      await change({ 'agents/b.yml': agent('b', '1'), 'agents/z.yml': 'id: z\nmodules: [' })
      return opened
    }

    it('reports the problems of the new one, and shows the text in service', async () => {
      const { folder, lines, ask } = await readMeanwhile(false)
      expect(folder.problems().map(({ file, line }) => [file, line])).to.deep.equal([['agents/z.yml', 2]])
      expect(lines).to.have.length(1)
      expect(lines[0]).to.match(/^agents\/z\.yml:2:/)
      expect(await ask('z')).to.equal('1 x')
      expect(folder.sourceOf('z')).to.equal(agent('z', '1'))
    })

    it('reports no problem of the old one', async () => {
      const { folder, lines } = await readMeanwhile(true)
      expect(folder.problems().map(({ file, line }) => [file, line])).to.deep.equal([['agents/z.yml', 2]])
      expect(lines.join()).not.to.include('refused at last')
    })
  })

  it('serves a version although a listener for loads fails', async () => {
    const { folder, lines, change } = await open({ 'agents/a.yml': agent('a', '1') })
    folder.history.onLoad(() => {
      throw new Error('out of paper')
    })
    const changes = await change({ 'agents/a.yml': agent('a', '2') })
    expect(changes).to.deep.equal([{ file: 'agents/a.yml', kind: 'reloaded', id: 'a' }])
    expect(folder.problems()).to.deep.equal([])
    expect(lines).to.deep.equal(['A listener for loads of agent files failed: out of paper'])
  })

  it('reports a text that cannot be read once, however often code or other files change', async () => {
    const { project, folder, lines, change } = await open({ 'agents/a.yml': 'id: a\nmodules: [' })
    await folder.reloadUsers(new Set([project.path('modules/slow.ts')]), PATIENCE_MS, new Set())
    await change({ 'agents/b.yml': agent('b', '1') })
    expect(lines).to.have.length(1)
    expect(folder.problems()).to.have.length(1)
  })

  it('reports one of them once, too, that was refused for a circle before', async () => {
    const calls = (id: string, called: string) =>
      `${agent(id, '1')}  - { id: team, module: tools/agents, config: { agents: [${called}] } }\n`
    const { lines, change } = await open({ 'agents/a.yml': calls('a', 'b'), 'agents/b.yml': calls('b', 'a') })
    await change({ 'agents/b.yml': 'id: b\nmodules: [' })
    const reported = lines.length
    await change({ 'agents/c.yml': agent('c', '1') })
    await change({ 'agents/c.yml': agent('c', '2') })
    expect(lines).to.have.length(reported)
  })
})
