import { readdir, stat } from 'node:fs/promises'
import { expect } from 'chai'
import { runCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const FILES = [
  '.agent-host/agent.schema.json',
  '.env',
  '.gitignore',
  'README.md',
  'agents/example.yml',
  'modules/__init__.py',
  'modules/index.ts',
  'package.json',
  'tests/example.test.ts',
  'tests/test_example.py',
  'tools/__init__.py',
  'tools/example.py',
  'tools/example.ts',
  'tsconfig.json',
]

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.map((entry) => `${entry.parentPath}/${entry.name}`.slice(folder.length + 1)).sort()
}

describe('init', () => {
  it('makes a project and says what comes next', async () => {
    const { dir, path } = await makeProject()
    expect(await runCli(['init', 'myproj'], { cwd: dir })).to.deep.equal({
      exitCode: 0,
      stdout: 'The project myproj is made.\n  cd myproj\n  agent-host dev\n',
      stderr: '',
    })
    expect(await filesBelow(path('myproj'))).to.deep.equal(FILES)
    expect(await readdir(dir)).to.deep.equal(['myproj'])
  })

  it('makes a project whose agents and tests are in order, with nothing installed and no network', async () => {
    const { dir, path } = await makeProject()
    await runCli(['init', 'myproj'], { cwd: dir })
    const checked = await runCli(['check'], { cwd: path('myproj') })
    expect({ exitCode: checked.exitCode, last: checked.stdout.trimEnd().split('\n').at(-1) }).to.deep.equal({
      exitCode: 0,
      last: '1 agent, 0 problems',
    })
    const tested = await runCli(['test'], { cwd: path('myproj') })
    expect(tested.stdout)
      .to.match(/pass 2\n/)
      .and.to.match(/fail 0\n/)
    expect(tested.exitCode).to.equal(0)
  })

  it('keeps .env to its owner, every provider in it commented, the chosen one first', async () => {
    const { dir, path, read } = await makeProject()
    const { stdout } = await runCli(['init', 'myproj', '--llm', 'mistral'], { cwd: dir })
    expect(stdout).to.contain('Set MISTRAL_API_KEY in myproj/.env; until then the offline model answers.')
    expect((await stat(path('myproj/.env'))).mode & 0o777).to.equal(0o600)
    const text = await read('myproj/.env')
    expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).to.deep.equal([])
    expect([...text.matchAll(/^# ([A-Z_]+)=/gm)].map(([, name]) => name)).to.deep.equal([
      'MISTRAL_API_KEY',
      'OPENAI_API_KEY',
      'ANTHROPIC_API_KEY',
      'GEMINI_API_KEY',
      'GROQ_API_KEY',
      'OPENROUTER_API_KEY',
      'OLLAMA_BASE_URL',
    ])
  })

  it('keeps the version of --python, and warns when there is no such interpreter', async () => {
    const { dir, read } = await makeProject()
    const { exitCode, stderr } = await runCli(['init', 'myproj', '--python', '3.999'], { cwd: dir })
    expect(exitCode).to.equal(0)
    expect(await read('myproj/.python-version')).to.equal('3.999\n')
    expect(stderr).to.contain('There is no python3.999 on this machine')
  })

  it('takes an empty folder as it is, also the one it runs in', async () => {
    const { path, write, remove } = await makeProject()
    await write('here/file', '')
    await remove('here/file')
    const { ino } = await stat(path('here'))
    expect((await runCli(['init', '.'], { cwd: path('here') })).exitCode).to.equal(0)
    expect(await filesBelow(path('here'))).to.deep.equal(FILES)
    expect((await stat(path('here'))).ino).to.equal(ino)
  })

  it('refuses a folder that holds something, and changes nothing', async () => {
    const { dir, path } = await makeProject({ 'myproj/notes.txt': 'mine' })
    const { exitCode, stdout, stderr } = await runCli(['init', 'myproj', '--yes'], { cwd: dir })
    expect({ exitCode, stdout, stderr }).to.deep.equal({
      exitCode: 1,
      stdout: '',
      stderr:
        `Error: The folder ${path('myproj')} is not empty.\n` +
        '  Choose another name, or empty the folder. Nothing was changed.\n',
    })
    expect(await filesBelow(dir)).to.deep.equal(['myproj/notes.txt'])
  })

  it('refuses a file in the place of the folder', async () => {
    const { dir, read } = await makeProject({ myproj: 'a file' })
    const { exitCode, stderr } = await runCli(['init', 'myproj'], { cwd: dir })
    expect(exitCode).to.equal(1)
    expect(stderr).to.match(/^Error: .*myproj cannot be used: /)
    expect(await read('myproj')).to.equal('a file')
  })

  it('does not read the .env of the folder around', async () => {
    const { dir } = await makeProject({ '.env/file': '' })
    expect((await runCli(['init', 'myproj'], { cwd: dir })).exitCode).to.equal(0)
  })
})
