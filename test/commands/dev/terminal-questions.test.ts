import { symlink } from 'node:fs/promises'
import { mock } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { TerminalQuestions } from '../../../src/commands/dev/terminal-questions.ts'
import type { Question, QuestionPlan } from '../../../src/server/adapters/ui/questions/questions.ts'
import { eventually } from '../../support/eventually.ts'
import { makeProject, type TempProject } from '../../support/temp-project.ts'

/** From when on a key counts, with some to spare. */
const QUIET_MS = 1100

/** Questions of a project, with what the terminal shows. */
async function open(files: Readonly<Record<string, string>> = {}) {
  const project = await makeProject(files)
  const shown: string[] = []
  const commands: string[] = []
  const questions = new TerminalQuestions({
    projectDir: project.dir,
    output: {
      print: (lines) => void shown.push(...lines),
      hold: () => {},
      release: () => {},
    },
    run: async (command) => commands.push(command.join(' ')) && 3,
  })
  const stateOf = (id: string) => questions.latest().find((news) => news.id === id)?.state
  const reaches = (id: string, state: string) => eventually(() => expect(stateOf(id)).equal(state))
  return { project, questions, shown, commands, stateOf, reaches }
}

const write = (path: string, text: string): Question => ({
  title: `Write ${path}`,
  plan: async () => ({ writes: [{ path, content: Buffer.from(text) }] }),
})

/** Adds a line to what the file has when it is planned. */
const append = (path: string, line: string): Question => ({
  title: `Add to ${path}`,
  async plan(read): Promise<QuestionPlan> {
    return { writes: [{ path, content: Buffer.concat([(await read(path)) ?? Buffer.of(), Buffer.from(line)]) }] }
  },
})

describe('questions on the terminal of dev', () => {
  it('show the path and every line that changes, and write these bytes at a `y` after a second', async () => {
    const { project, questions, shown, reaches } = await open({ 'agents/a.yml': 'id: a\nprompt: Hi\nlast: 1\n' })
    const text = 'id: a\nprompt: B\u00ff\u202ee\u200b\u3164 \u001b[2J\t\r\nlast: 1\n'
    const id = await questions.ask(write('agents/a.yml', text))
    expect(shown).deep.equal([
      '',
      'The debug page asks: Write agents/a.yml',
      '  agents/a.yml  changed, 43 bytes',
      '  @@ line 2 @@',
      '  - prompt: Hi',
      '  + prompt: Bÿ\\u{202e}e\\u{200b}\\u{3164} \\u{1b}[2J\\u{9}\\u{d}',
      'y writes it (a second from now, alone); every other key is a no. It ends in 60 s.',
    ])
    await wait(QUIET_MS)
    expect(questions.answer('y')).equal(true)
    await reaches(id, 'written')
    expect(await project.read('agents/a.yml')).equal(text)
    expect(shown.at(-1)).equal('Wrote agents/a.yml.')
    expect(questions.answer('y')).equal(false)
  })

  it('take a `y` within the first second for nothing', async () => {
    const { project, questions, reaches, stateOf } = await open()
    const id = await questions.ask(write('tests/a.test.ts', '1\n'))
    questions.answer('y')
    await wait(QUIET_MS / 2)
    questions.answer('y')
    await wait(QUIET_MS / 2)
    expect([stateOf(id), project.exists('tests/a.test.ts')]).deep.equal(['open', false])
    await wait(QUIET_MS)
    questions.answer('y')
    await reaches(id, 'written')
  })

  const NOES = ['n', 'Y', 'yes', 'y\r', '\r', '\u001b', 'say yes', '\u001b[200~y\u001b[201~', '\u0003', '']
  it('take everything but a single `y` for a no', async () => {
    const { project, questions, stateOf } = await open()
    for (const typed of NOES) {
      const id = await questions.ask(write('tests/a.test.ts', '1\n'))
      questions.answer(typed)
      expect([typed, stateOf(id)]).deep.equal([typed, 'refused'])
    }
    expect(project.exists('tests')).equal(false)
  })

  it('take a `y` that another key follows at once for a no: it was pasted, or is held', async () => {
    const { project, questions, stateOf } = await open()
    for (const next of ['y', 'e']) {
      const id = await questions.ask(write('tests/a.test.ts', '1\n'))
      await wait(QUIET_MS)
      questions.answer('y')
      questions.answer(next)
      expect(stateOf(id)).equal('refused')
    }
    expect(project.exists('tests')).equal(false)
  })

  it('come one at a time, and at most five wait', async () => {
    const { questions, shown, stateOf } = await open()
    const names = ['a', 'b', 'c', 'd', 'e']
    const ids: string[] = []
    for (const name of names) ids.push(await questions.ask(write(`tests/${name}.test.ts`, `${name}\n`)))
    expect(shown.filter((line) => line.startsWith('The debug page'))).length(1)
    const sixth = await questions.ask(write('tests/f.test.ts', 'f\n')).catch((error: Error) => error.message)
    expect(sixth).equal('5 questions wait in the terminal of agent-host dev: answer them there first')
    questions.answer('n')
    expect(ids.map(stateOf)).deep.equal(['refused', 'open', 'open', 'open', 'open'])
    expect(shown.filter((line) => line.startsWith('The debug page'))).length(2)
    await questions.ask(write('tests/f.test.ts', 'f\n'))
  })

  it('end after 60 s without an answer', async () => {
    const { project, questions, stateOf } = await open()
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      const id = await questions.ask(write('tests/a.test.ts', '1\n'))
      mock.timers.tick(59_999)
      expect(stateOf(id)).equal('open')
      mock.timers.tick(1)
      expect(stateOf(id)).equal('expired')
    } finally {
      mock.timers.reset()
    }
    expect([questions.answer('y'), project.exists('tests')]).deep.equal([false, false])
  })

  it('ask again where the file has changed, and show what they write then', async () => {
    const { project, questions, shown, reaches } = await open({ 'evals/a.jsonl': '1\n' })
    const id = await questions.ask(append('evals/a.jsonl', '3\n'))
    await wait(QUIET_MS)
    await project.write('evals/a.jsonl', '1\n2\n')
    questions.answer('y')
    await reaches(id, 'changed')
    expect(await project.read('evals/a.jsonl')).equal('1\n2\n')
    expect(shown.slice(-4, -1)).deep.equal(['  evals/a.jsonl  changed, 6 bytes', '  @@ line 3 @@', '  + 3'])
    await wait(QUIET_MS)
    questions.answer('y')
    await reaches(id, 'written')
    expect(await project.read('evals/a.jsonl')).equal('1\n2\n3\n')
  })

  it('leave nothing behind where one of several files cannot be written', async () => {
    const { project, questions, reaches } = await open()
    // The second one is there once the first one is.
    const files = ['tests/a.test.ts', 'tests/a.test.ts']
    const plan = async () => ({ writes: files.map((path) => ({ path, content: Buffer.from('1\n') })) })
    const id = await questions.ask({ title: 'Two', plan })
    await wait(QUIET_MS)
    questions.answer('y')
    await reaches(id, 'failed')
    expect(project.exists('tests/a.test.ts')).equal(false)
  })

  const refusal = async ({ questions }: { questions: TerminalQuestions }, path: string) =>
    questions.ask(write(path, '1\n')).then(
      () => 'asked',
      (error: Error) => error.message,
    )
  it('name files in agents/, tests/ and evals/ alone', async () => {
    const asked = await open()
    const elsewhere = ['.env', 'package.json', 'modules/a.ts', 'agents', 'agents/', 'agents/../.env', 'agents/./a.yml']
    const absolute = [
      '/etc/passwd',
      'agents//a.yml',
      'agents\\..\\.env',
      'AGENTS/a.yml',
      'agents/a.yml:stream',
      '../x',
      '',
    ]
    for (const path of [...elsewhere, ...absolute]) {
      const message = `'${path}' does not lie in agents/, tests/, evals/: nothing else is written.`
      expect(await refusal(asked, path)).equal(message)
    }
    expect(asked.shown).deep.equal([])
  })

  it('follow no link: neither a file nor a folder, nor one that comes later', async () => {
    const asked = await open({ 'outside/a.yml': 'id: a\n', 'tests/kept.ts': '' })
    const { project, questions, reaches } = asked
    const link = async (from: string, to: string) => symlink(project.path(from), project.path(to))
    await link('outside', 'agents')
    await link('outside/a.yml', 'tests/a.test.ts')
    await link('outside/missing', 'tests/b.test.ts')
    expect(await refusal(asked, 'agents/a.yml')).equal('agents is a link, and none is followed. Name the file itself.')
    expect(await refusal(asked, 'tests/a.test.ts')).contain('tests/a.test.ts is a link')
    expect(await refusal(asked, 'tests/b.test.ts')).contain('tests/b.test.ts is a link')
    const id = await questions.ask(write('evals/tapes/a.yml', '1\n'))
    await wait(QUIET_MS)
    await link('outside', 'evals')
    questions.answer('y')
    await reaches(id, 'failed')
    await untouched(project)
  })

  it('run a command, and say how it ended', async () => {
    const { questions, shown, commands, reaches } = await open()
    const id = await questions.ask({
      title: 'Run the evals',
      plan: async () => ({ writes: [], command: ['eval', 'a'] }),
    })
    expect(shown).contain('  agent-host eval a')
    await wait(QUIET_MS)
    expect(commands).deep.equal([])
    questions.answer('y')
    await reaches(id, 'ended')
    expect(commands).deep.equal(['eval a'])
    expect(questions.latest().at(-1)?.detail).equal('agent-host eval a exited with 3.')
  })
})

async function untouched(project: TempProject): Promise<void> {
  expect(await project.read('outside/a.yml')).equal('id: a\n')
  expect(project.exists('outside/tapes')).equal(false)
  expect(project.exists('outside/missing')).equal(false)
}
