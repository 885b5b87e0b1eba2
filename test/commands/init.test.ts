import { chmod, readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { AgentHost } from 'agent-host'
import { expect } from 'chai'
import { TEMPLATES } from '../../src/project/create/templates.ts'
import { VERSION } from '../../src/version.ts'
import { callCli } from '../support/call-cli.ts'
import { itWith } from '../support/it-with.ts'
import { runCli, withFileLimit } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'
import { closeTerminals, KEYS, needsTerminal, openTerminal } from '../support/terminal.ts'

const CLONE = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

const FILES = [
  '.agent-host/agent.schema.json',
  '.env',
  '.gitignore',
  '.vscode/extensions.json',
  'AGENTS.md',
  'README.md',
  'agents/example.yml',
  'evals/example.jsonl',
  'evals/scorers.ts',
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

/** Answers of the offline model to the examples of the agent; `waiting` for those that a person decides. */
async function askExamples(projectDir: string) {
  const host = new AgentHost({ environment: {}, projectDir })
  try {
    for (const name of await readdir(join(projectDir, 'agents'))) {
      const file = `agents/${name}`
      await host.register(await readFile(join(projectDir, file), 'utf8'), { file })
    }
    const { examples = [] } = host.get('example') ?? {}
    const results = await Promise.all(examples.map((question) => host.run('example', question)))
    return { examples, answers: results.map(({ status, text }) => (status === 'waiting' ? status : text)) }
  } finally {
    await host.close()
  }
}

/** What the README of a template says beside the question. */
const NOTES: Readonly<Record<string, string>> = {
  rag: 'the files in `documents/`',
  approval: '`agent-host approvals`',
  team: 'the front desk',
}

describe('init', () => {
  it('creates a project and prints the next steps', async () => {
    const { dir, path } = await makeProject()
    expect(await runCli(['init', 'myproj'], { cwd: dir })).to.deep.equal({
      exitCode: 0,
      stdout: 'Created project myproj.\n  cd myproj\n  agent-host dev\n',
      stderr: '',
    })
    expect(await filesBelow(path('myproj'))).to.deep.equal(FILES)
    expect(await readdir(dir)).to.deep.equal(['myproj'])
    const { stdout } = await runCli(['init', 'my project'], { cwd: dir })
    expect(stdout).to.contain('\n  cd "my project"\n')
  })

  it('writes .env for its owner only, with every provider commented out, the chosen one first', async () => {
    const { dir, path, read } = await makeProject()
    const { stdout } = await callCli(['init', 'myproj', '--llm', 'mistral'], { cwd: dir })
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

  it('saves the version of --python, and warns about a missing interpreter', async () => {
    const { dir, read } = await makeProject()
    const { exitCode, stderr } = await callCli(['init', 'myproj', '--python', '3.999.1'], { cwd: dir })
    expect(exitCode).to.equal(0)
    expect(await read('myproj/.python-version')).to.equal('3.999.1\n')
    expect(stderr).to.equal(
      'Warning: There is no python3.999 on this machine. Until you install it, tools in Python use python3.\n',
    )
  })

  it('accepts an empty folder, even the current one', async () => {
    const { path, write, remove } = await makeProject()
    await write('here/file', '')
    await remove('here/file')
    const { ino } = await stat(path('here'))
    expect((await callCli(['init', '.'], { cwd: path('here') })).exitCode).to.equal(0)
    expect(await filesBelow(path('here'))).to.deep.equal(FILES)
    expect((await stat(path('here'))).ino).to.equal(ino)
  })

  it('creates the project where the disk has no room for the schema for editors, and warns', async () => {
    const { dir, exists } = await makeProject()
    const { exitCode, stdout, stderr } = await runCli(['init', 'myproj', '--yes'], {
      cwd: dir,
      runtime: withFileLimit(64 * 1024),
    })
    expect([exitCode, stdout.split('\n')[0]]).to.deep.equal([0, 'Created project myproj.'])
    expect(stderr).to.match(/^Warning: Cannot write \.agent-host\/agent\.schema\.json: EFBIG/)
    expect(exists('myproj/package.json')).to.equal(true)
    expect(await readdir(join(dir, 'myproj/.agent-host'))).to.deep.equal([])
  })

  it('rejects a folder with files, and changes nothing', async () => {
    const { dir, path } = await makeProject({ 'myproj/notes.txt': 'mine' })
    const { exitCode, stdout, stderr } = await callCli(['init', 'myproj', '--yes'], { cwd: dir })
    expect({ exitCode, stdout, stderr }).to.deep.equal({
      exitCode: 1,
      stdout: '',
      stderr:
        `Error: The folder ${path('myproj')} is not empty.\n` +
        '  Choose another name, or empty the folder. Nothing was changed.\n',
    })
    expect(await filesBelow(dir)).to.deep.equal(['myproj/notes.txt'])
  })

  it('rejects a file in place of the folder', async () => {
    const { dir, path, read } = await makeProject({ myproj: 'a file' })
    const { exitCode, stderr } = await callCli(['init', 'myproj'], { cwd: dir })
    expect(exitCode).to.equal(1)
    expect(stderr).to.equal(`Error: ${path('myproj')} is not a folder.\n`)
    expect(await read('myproj')).to.equal('a file')
  })

  it('treats a folder with only repository and editor files as empty, and keeps them', async () => {
    const files = {
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.gitignore': 'node_modules\n',
      LICENSE: 'MIT\n',
      'README.md': '# Mine\n',
      '.idea/x.xml': '',
      '.vscode/settings.json': '{}',
    }
    const { dir, path, read } = await makeProject(files)
    const { exitCode, stdout, stderr } = await callCli(['init', '.', '--git'], { cwd: dir })
    expect({ exitCode, stdout }).to.deep.equal({
      exitCode: 0,
      stdout: `Created project ${basename(dir)}.\nKept your .gitignore, README.md.\n  agent-host dev\n`,
    })
    expect(stderr).to.contain(
      'Warning: Add these lines to .gitignore; without them keys and records may be committed: .env debug responses',
    )
    for (const [file, text] of Object.entries(files)) if (file !== '.git/HEAD') expect(await read(file)).to.equal(text)
    const created = (await filesBelow(path('.'))).filter((file) => !file.startsWith('.git/') && !(file in files))
    expect(created).to.deep.equal(FILES.filter((file) => !['.gitignore', 'README.md'].includes(file)))
  })

  for (const template of Object.keys(TEMPLATES)) {
    itWith(
      template === 'tools' ? 'Python 3.8' : undefined,
      `the template ${template} has agents, examples and tests that work without key or network`,
      async () => {
        const { dir, path, read } = await makeProject()
        await callCli(['init', 'myproj', '--template', template], { cwd: dir })
        const checked = await callCli(['check'], { cwd: path('myproj') })
        const fine = template === 'team' ? '3 agents, 0 problems' : '1 agent, 0 problems'
        expect([checked.stdout.trimEnd().split('\n').at(-1), checked.stderr]).to.deep.equal([fine, ''])
        const tested = await runCli(['test'], { cwd: path('myproj') })
        expect(tested.stdout, tested.stdout).to.match(/fail 0\n/)
        expect(await filesBelow(path('myproj'))).to.include.members(FILES)
        const { examples, answers } = await askExamples(path('myproj'))
        const readme = await read('myproj/README.md')
        expect(readme)
          .to.contain(`"content": "${examples[0]}"`)
          .and.contain(NOTES[template] ?? '\n')
        expect(readme).not.to.match(/[A-Z]_NOTE|QUESTION|\n\n\n/)
        expect(examples.length).to.be.greaterThan(1)
        for (const answer of answers) expect(answer).to.match(/ says: |^waiting$/)
      },
    )
  }

  it('saves the key in .env, readable only by its owner, and shows it nowhere', async () => {
    const { dir, path, read } = await makeProject()
    const args = ['init', 'myproj', '--llm', 'anthropic', '--api-key', "sk-ant-it's #1"]
    const { stdout, stderr } = await callCli(args, { cwd: dir })
    expect(stdout + stderr)
      .not.to.contain('sk-ant')
      .and.not.to.contain('Set ANTHROPIC')
    expect((await stat(path('myproj/.env'))).mode & 0o777).to.equal(0o600)
    expect(parseEnv(await read('myproj/.env')).ANTHROPIC_API_KEY).to.equal("sk-ant-it's #1")
  })

  it('rejects a key without a provider', async () => {
    const { dir } = await makeProject()
    const { exitCode, stderr } = await callCli(['init', 'myproj', '--api-key', 'sk-1'], { cwd: dir })
    expect([exitCode, stderr]).to.deep.equal([2, 'Error: --api-key needs --llm with the vendor that the key is for.\n'])
  })

  it('depends on agent-host, and has the settings that Yarn needs', async () => {
    const { dir, path, read } = await makeProject()
    await callCli(['init', 'myproj', '--agent-host', 'file:../x.tgz'], {
      cwd: dir,
      env: { npm_config_user_agent: 'yarn/4.5.0 npm/? node/v20' },
    })
    expect(JSON.parse(await read('myproj/package.json')).dependencies).to.deep.equal({ 'agent-host': 'file:../x.tgz' })
    expect(await read('myproj/.yarnrc.yml')).to.equal('nodeLinker: node-modules\n')
    await callCli(['init', 'other', '--package-manager', 'npm'], { cwd: dir })
    expect(JSON.parse(await read('other/package.json')).dependencies).to.deep.equal({ 'agent-host': `file:${CLONE}` })
    expect(await read('other/README.md')).to.contain(`write\n\`"agent-host": "^${VERSION}"\` in \`package.json\``)
    await callCli(['init', 'fourth', '--agent-host', '^1.2.0'], { cwd: dir })
    expect(await read('fourth/README.md')).not.to.contain('registry')
    expect(await filesBelow(path('other'))).not.to.include('.yarnrc.yml')
  })

  it('prints the next steps for the package manager that called it', async () => {
    const { dir } = await makeProject()
    const env = { npm_config_user_agent: 'pnpm/10.2.0 npm/? node/v20' }
    const { stdout } = await callCli(['init', 'myproj'], { cwd: dir, env })
    expect(stdout).to.equal('Created project myproj.\n  cd myproj\n  pnpm install\n  pnpm run dev\n')
  })

  it('warns if the installation fails, and exits with 0', async () => {
    const { dir, write, path } = await makeProject()
    await write('bin/pnpm', '#!/bin/sh\necho "no such package" >&2\nexit 3\n')
    await chmod(path('bin/pnpm'), 0o755)
    const { exitCode, stdout, stderr } = await runCli(['init', 'myproj', '--install', '--package-manager', 'pnpm'], {
      cwd: dir,
      env: { PATH: `${path('bin')}:${process.env.PATH}` },
    })
    expect({ exitCode, stdout }).to.deep.equal({
      exitCode: 0,
      stdout: 'Created project myproj.\nInstalling dependencies with pnpm.\n  cd myproj\n  agent-host dev\n',
    })
    expect(stderr)
      .to.contain('no such package')
      .and.to.match(/pnpm install failed with exit code 3\. What it reports is above\. The project runs without it/)
  })

  itWith('git', 'initialises a git repository with --git', async () => {
    const { dir, exists } = await makeProject()
    await callCli(['init', 'myproj', '--git'], { cwd: dir })
    expect(exists('myproj/.git/HEAD')).to.equal(true)
  })

  it('says that git is missing, and creates the project without a repository', async () => {
    const { dir, exists } = await makeProject()
    const { exitCode, stderr } = await runCli(['init', 'myproj', '--git'], { cwd: dir, env: { PATH: '/nowhere' } })
    expect([exitCode, exists('myproj/agents/example.yml'), exists('myproj/.git')]).to.deep.equal([0, true, false])
    expect(stderr.replace(/\s+/g, ' ')).to.contain(
      'There is no git on this machine: no repository was initialised. Install git',
    )
  })

  it('does not read the .env of the parent folder', async () => {
    const { dir } = await makeProject({ '.env/file': '' })
    expect((await callCli(['init', 'myproj'], { cwd: dir })).exitCode).to.equal(0)
  })
})

describe('init on a terminal', () => {
  before(function () {
    needsTerminal(this)
  })
  afterEach(closeTerminals)

  itWith('git', 'prompts for every missing option, and never shows the key', async () => {
    const { dir, read, path, exists } = await makeProject()
    const terminal = openTerminal(['init'], { cwd: dir })
    await terminal.shows(/Name of the project:/)
    terminal.type(`shop${KEYS.enter}`)
    await terminal.shows(/Template:/)
    terminal.type(KEYS.down + KEYS.enter)
    await terminal.shows(/Model vendor:/)
    terminal.type(KEYS.down + KEYS.enter)
    await terminal.shows(/OPENAI_API_KEY \(hidden, saved in \.env/)
    terminal.type(`sk-very-secret${KEYS.enter}`)
    await terminal.shows(/Initialise a git repository\?/)
    terminal.type(KEYS.enter)
    await terminal.shows(/Install dependencies with npm\?/)
    terminal.type(`n${KEYS.enter}`)
    await terminal.shows(/Created project shop\.\n {2}cd shop\n {2}agent-host dev/)
    expect(await terminal.ended).to.equal(0)
    expect(terminal.screen()).not.to.contain('sk-very-secret')
    expect(parseEnv(await read('shop/.env')).OPENAI_API_KEY).to.equal('sk-very-secret')
    expect((await stat(path('shop/.env'))).mode & 0o777).to.equal(0o600)
    expect(exists('shop/tools/orders.ts') && exists('shop/.git/HEAD')).to.equal(true)
  })

  it('Ctrl-C cancels at every kind of prompt, the first and the last: nothing is created, exit code 130', async () => {
    const prompts = [
      [['init'], /Name of the project:/],
      [['init', 'x'], /Template:/],
      [['init', 'x', '--template', 'rag', '--llm', 'openai'], /OPENAI_API_KEY/],
      [['init', 'x', '--template', 'rag', '--llm', 'offline', '--no-git'], /Install dependencies/],
      [['eject'], /Which packages\?/],
    ] as const
    const cancel = async ([args, prompt]: (typeof prompts)[number]) => {
      const { dir } = await makeProject()
      const terminal = openTerminal(args, { cwd: dir })
      await terminal.shows(prompt)
      terminal.type(KEYS.ctrlC)
      expect(await terminal.ended, args.join(' ')).to.equal(130)
      expect(terminal.screen()).to.match(/Cancelled, nothing created\.\n$/)
      expect(await readdir(dir)).to.deep.equal([])
    }
    await Promise.all(prompts.map(cancel))
  })

  for (const [what, args, env] of [
    ['--yes', ['--yes'], {}],
    ['CI', [], { CI: 'true' }],
  ] as const) {
    it(`prompts for nothing with ${what}`, async () => {
      const { dir, exists } = await makeProject()
      const terminal = openTerminal(['init', 'shop', ...args], { cwd: dir, env })
      expect(await terminal.ended).to.equal(0)
      expect(terminal.screen()).to.equal('Created project shop.\n  cd shop\n  agent-host dev\n')
      expect(exists('shop/agents/example.yml')).to.equal(true)
    })
  }

  it('rejects a folder with files before any prompt', async () => {
    const { dir } = await makeProject({ 'shop/notes.txt': '' })
    const terminal = openTerminal(['init', 'shop'], { cwd: dir })
    expect(await terminal.ended).to.equal(1)
    expect(terminal.screen()).to.match(/^Error: The folder .*shop is not empty\.\n/)
  })
})
