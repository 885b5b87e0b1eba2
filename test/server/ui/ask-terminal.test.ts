import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { TerminalQuestions } from '../../../src/commands/dev/terminal-questions.ts'
import { findBarriers, isTooWide } from '../../support/browser.ts'
import { SHOP } from '../../support/counting-shop.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { evalResult, evalRun } from '../../support/eval-results.ts'
import { untilTaped } from '../../support/tapes.ts'

/** From when on a key counts, with some to spare. */
const QUIET_MS = 1100
const CASE = '{"id":"first","input":"Hi"}\n'

describe('the debug UI under dev with a terminal', () => {
  let questions: TerminalQuestions
  let commands: string[]
  let endCommand: (code: number) => void = () => {}
  const ui = DebugUi.forSuite({ record: 1 }, { ...SHOP, 'evals/first.jsonl': CASE }, (projectDir) => {
    commands = []
    const run = (command: readonly string[]) => {
      commands.push(command.join(' '))
      return new Promise<number>((done) => {
        endCommand = done
      })
    }
    const output = { print() {}, hold() {}, release() {} }
    questions = new TerminalQuestions({ projectDir, output, run })
    return questions
  })

  const record = async () => {
    const handle = ui.server.host.start('shop', { messages: [{ role: 'user', content: 'Where is A1?' }] })
    await handle.result
    await untilTaped(ui.project.dir, handle.id)
    return handle.id
  }
  const sayYes = async () => {
    await wait(QUIET_MS)
    questions.answer('y')
  }

  it('saves a run as a test and as a case after a `y` in the terminal, and says how each question ended', async () => {
    const run = await record()
    const page = await ui.open(`#/runs/${run}`)
    await page.getByRole('button', { name: 'Save as test' }).click()
    const dialog = page.getByRole('dialog', { name: 'Save as test' })
    await dialog.getByLabel('Name').fill('where')
    await dialog.getByText('tests/where.test.ts').waitFor()
    await dialog.getByRole('button', { name: 'Save test' }).click()
    await dialog.getByText('Type y in the terminal of agent-host dev.').waitFor()
    expect(ui.project.exists('tests')).equal(false)
    expect(await findBarriers(page)).deep.equal([])
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await isTooWide(page)).equal(false)
    await sayYes()
    await dialog.getByText('Wrote tests/tapes/where.jsonl.gz, tests/where.test.ts.').waitFor()
    await dialog.getByRole('button', { name: 'Save as case' }).click()
    await dialog.getByText('Type y in the terminal of agent-host dev.').waitFor()
    questions.answer('n')
    await dialog.getByText('Refused in the terminal. Nothing was written.').waitFor()
    expect(await ui.project.read('evals/first.jsonl')).equal(CASE)
    await ui.project.remove('tests')
  })

  it('writes a changed prompt into the agent file, and says why it cannot', async () => {
    const page = await ui.open('#/play/shop')
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    const write = page.getByRole('button', { name: 'Write into agents/shop.yml' })
    expect(await write.isDisabled()).equal(true)
    await page.getByLabel('system prompt').fill('Be brief.')
    await write.click()
    await see(page, 'Type y in the terminal of agent-host dev.')
    await sayYes()
    await see(page, 'Wrote agents/shop.yml.')
    expect(await ui.project.read('agents/shop.yml')).equal(SHOP['agents/shop.yml'].replace('Be kind.', 'Be brief.'))
    await write.click()
    await see(page, 'agents/shop.yml has these values already.')
    ui.expected.push(/status of 400/, /status of 409/)
  })

  it('starts the evals, and follows their result', async () => {
    const page = await ui.open('#/evals')
    await page.getByRole('button', { name: 'Run evals' }).click()
    await see(page, 'Type y in the terminal of agent-host dev.')
    await sayYes()
    await see(page, 'Started agent-host eval evals/first.jsonl in the terminal.')
    expect(commands).deep.equal(['eval evals/first.jsonl'])
    const save = (status: 'running' | 'complete', ids: readonly string[]) =>
      ui.project.write(
        'evals/results/2026-01-01T00-00-00-000-x.json',
        JSON.stringify(
          evalResult(
            ids.map((id) => evalRun(id)),
            { status } as object,
          ),
        ),
      )
    await save('running', ['hello'])
    await page.getByRole('link', { name: /^hello, a/ }).waitFor()
    await save('complete', ['hello', 'refund'])
    endCommand(0)
    await see(page, 'agent-host eval evals/first.jsonl exited with 0.')
    await page.getByRole('link', { name: /^refund, a/ }).waitFor()
    await ui.project.remove('evals/results')
  })

  it('learns how a question ended that was answered while the page was away', async () => {
    const page = await ui.open('#/evals')
    await page.getByRole('button', { name: 'Run evals' }).click()
    await see(page, 'Type y in the terminal of agent-host dev.')
    await page.route('**/api/ui/live', (route) => route.abort())
    await page.evaluate(HIDE)
    questions.answer('n')
    await page.unroute('**/api/ui/live')
    await page.evaluate(SHOW)
    await see(page, 'Refused in the terminal. Nothing was written.')
    ui.expected.push(/net::ERR_FAILED/)
  })
})

const setHidden = (isHidden: boolean) =>
  `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`
const HIDE = setHidden(true)
const SHOW = setHidden(false)
