import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { COMMANDS } from '../../src/commands/index.ts'
import { eventually } from '../support/eventually.ts'
import { runCli, runNode } from '../support/run-cli.ts'

const SOURCE_CLI = [
  '--import=tsx',
  '--conditions=agent-host-source',
  fileURLToPath(new URL('../../bin/dev.js', import.meta.url)),
]
/** Of the built files: the texts stand beside it. */
const { readyText }: typeof import('../../src/prebuilt-help.ts') = await import(
  new URL('../../dist/prebuilt-help.js', import.meta.url).href
)
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const plain = (text: string) => text.replace(/\s+/g, '')

describe('help and version', () => {
  for (const args of [[], ['help'], ['--help'], ['-h']]) {
    it(`'agent-host ${args.join(' ')}' lists the commands`, async () => {
      const { exitCode, stdout, stderr } = await runCli(args)
      expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
      expect([...stdout.matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, name]) => name)).to.deep.equal([
        'keys',
        'store',
        'webhooks',
        'init',
        'dev',
        'chat',
        'check',
        'test',
        'tool',
        'memory',
        'run',
        'new',
        'eject',
        'schema',
        'runs',
        'replay',
        'eval',
        'approvals',
        'schedules',
        'serve',
        'worker',
        'mcp',
        'doctor',
        'docs',
        'completion',
      ])
    })
  }

  it('has the flags of servers in groups, common ones first and limits at the end', () => {
    const text = readyText(['dev', '--help']) ?? ''
    expect([...text.matchAll(/^([A-Z]*) ?FLAGS$/gm)].map(([, group]) => group)).to.deep.equal([
      '',
      'ACCESS',
      'STORE',
      'LIMIT',
    ])
    const flags = [...text.matchAll(/^ {2}--([a-z0-9-]+)/gm)].map(([, name]) => name)
    expect(flags.slice(0, 3)).to.deep.equal(['open', 'port', 'agent-dir'])
    expect(flags.at(-1)).to.equal('debug-max-mb')
  })

  it('groups the flags of every command that has more than four, those that few commands share at the end', () => {
    const groups = Object.keys(COMMANDS).flatMap((id) => {
      const text = readyText([...id.split(':'), '--help']) ?? ''
      const count = [...text.matchAll(/^ {2,6}(-\w, )?--/gm)].length
      const headings = [...text.matchAll(/^([A-Z]*) ?FLAGS$/gm)].map(([, group]) => group)
      return count > 4 ? [[id, headings.join(' ').trim()]] : []
    })
    expect(groups).to.deep.equal([
      ['init', 'SETUP'],
      ['dev', 'ACCESS STORE LIMIT'],
      ['chat', 'SERVER PROJECT'],
      ['serve', 'ACCESS STORE LIMIT'],
      ['worker', 'ACCESS STORE LIMIT'],
      ['mcp', 'STORE PROJECT LIMIT'],
      ['mcp:login', 'STORE PROJECT'],
      ['approvals', 'SERVER STORE PROJECT'],
      ['approvals:approve', 'SERVER STORE PROJECT'],
      ['approvals:reject', 'SERVER STORE PROJECT'],
      ['approvals:edit', 'SERVER STORE PROJECT'],
      ['approvals:answer', 'SERVER STORE PROJECT'],
      ['runs', 'STORE'],
      ['replay', 'LIVE PROJECT'],
      ['eval', 'RESULT PROJECT'],
      ['keys:add', 'PROJECT'],
      ['store:forget', 'STORE'],
    ])
  })

  it('knows every class of a command in the source', () => {
    const folder = new URL('../../src/commands/', import.meta.url)
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
    const names = files.flatMap((file) =>
      [...readFileSync(new URL(file, folder), 'utf8').matchAll(/class (\w+) extends BaseCommand/g)].map(
        ([, name]) => name,
      ),
    )
    expect(Object.values(COMMANDS).map(({ name }) => name)).to.have.members(names)
  })

  for (const id of Object.keys(COMMANDS)) {
    const words = id.split(':')
    const name = words.join(' ')
    it(`'${name} --help', '${name} -h' and 'help ${name}' print the same text`, () => {
      const text = readyText([...words, '--help'])
      expect(text).to.contain(`USAGE\n  $ agent-host ${name}`).and.not.to.contain('[object Object]')
      const description = COMMANDS[id as keyof typeof COMMANDS].description ?? ''
      expect(plain(text ?? '').split(plain(description))).to.have.length(2)
      expect(readyText([...words, '-h'])).to.equal(text)
      expect(readyText(['help', ...words])).to.equal(text)
    })
  }

  it("'store --help' lists its commands, though 'store' alone is none", async () => {
    const { exitCode, stdout, stderr } = await runCli(['store', '--help'])
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    const commands = [...stdout.matchAll(/^ {2}store ([a-z]+) /gm)].map(([, name]) => name)
    expect(commands).to.have.members(['backup', 'check', 'copy', 'forget', 'migrate', 'restore'])
  })

  it("'eject --help' lists the commands below it", async () => {
    const { stdout } = await runCli(['eject', '--help'])
    expect([...stdout.matchAll(/^ {2}(eject [a-z]+) {2}/gm)].map(([, name]) => name)).to.deep.equal([
      'eject diff',
      'eject list',
      'eject upgrade',
    ])
  })

  it('shows the defaults of each command: a worker takes any free port', async () => {
    const { stdout } = await runCli(['worker', '--help'])
    expect(plain(stdout)).to.match(/Port;0takesafreeone\[default:0\]/)
  })

  it('matches the source of the commands', async () => {
    const fromSource = await runNode([...SOURCE_CLI, 'serve', '--help'])
    expect(fromSource.stderr).to.equal('')
    expect(plain((await runCli(['serve', '--help'])).stdout)).to.equal(plain(fromSource.stdout))
  })

  for (const args of [['--version'], ['-v'], ['version']]) {
    it(`'agent-host ${args}' prints the version`, async () => {
      expect(await runCli(args)).to.deep.equal({ exitCode: 0, stdout: `agent-host/${version}\n`, stderr: '' })
    })
  }

  it('takes at most twice as long as an empty program', async () => {
    const timeOf = async (act: () => Promise<unknown>) => {
      const start = performance.now()
      await act()
      return performance.now() - start
    }
    const empty: number[] = []
    const help: number[] = []
    // The least of many: whatever else the machine does only adds to it.
    await eventually(async () => {
      empty.push(await timeOf(() => runNode(['-e', '0'])))
      help.push(await timeOf(() => runCli(['dev', '--help'])))
      expect(Math.min(...help)).to.be.below(2 * Math.min(...empty))
    })
  })
})
