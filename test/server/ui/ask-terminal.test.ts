import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { TerminalQuestions } from '../../../src/commands/dev/terminal-questions.ts'
import { findBarriers, isTooWide } from '../../support/browser.ts'
import { SHOP } from '../../support/counting-shop.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { evalResult, evalRun } from '../../support/eval-results.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'
import { untilTaped } from '../../support/tapes.ts'

/** From when on a key counts, with some to spare. */
const QUIET_MS = 1100
const BOSS = `id: boss
modules:
  - { id: llm, module: clerk }
  - { id: agents, module: tools/agents, config: { agents: [shop] } }
  - { id: main, module: orchestrator/tool-loop, config: { system_prompt: Be a boss. } }
`
const CASE = '{"id":"first","input":"Hi"}\n'
const FILES = { ...SHOP, 'agents/boss.yml': BOSS, 'evals/first.jsonl': CASE }

describe('the debug UI under dev with a terminal', () => {
  let questions: TerminalQuestions
  let commands: string[]
  let endCommand: (code: number) => void = () => {}
  const ui = DebugUi.forSuite({ record: 1 }, FILES, (projectDir) => {
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
  })

  it('knows that a value was written: nothing is changed any more, and runs so far are of the version before', async () => {
    const page = await ui.open('#/play/shop')
    const change = page.getByRole('button', { name: 'Change', exact: true })
    const panel = page.getByRole('complementary', { name: 'Change' })
    const say = async (name: string) => {
      await page.getByLabel(name, { exact: true }).fill('Where is A1?')
      await page.getByRole('button', { name: 'Send' }).click()
    }
    await change.click()
    await panel.getByLabel('system prompt').fill('Be brief.')
    await say('Message to shop · system_prompt: kind. → brief.')
    await see(page, /^Be brief\. \| /)
    await panel.getByRole('button', { name: 'Write into agents/shop.yml' }).click()
    await see(page, 'Type y in the terminal of agent-host dev.')
    await sayYes()
    await panel.getByText('shop changed: the values here are the new ones.').waitFor()
    await panel.getByText('Runs so far are of the version before.').waitFor()
    expect(await panel.getByText('The agent changed meanwhile.').count()).equal(0)
    expect(await panel.getByText('edited', { exact: true }).count()).equal(0)
    expect(await panel.getByLabel('system prompt').inputValue()).equal('Be brief.')
    expect(await panel.getByRole('button', { name: 'Write into agents/shop.yml' }).isDisabled()).equal(true)
    await say('Message to shop')
    await eventually(async () => expect(await page.getByText(/^Be brief\. \| /).count()).equal(2))
    const variants = await ask(ui.server, '{ runs(filter: { agent_id: "shop" }) { runs { variant } } }')
    expect(variants).deep.equal({
      runs: { runs: [{ variant: null }, { variant: 'system_prompt: kind. → brief.' }] },
    })
    await page.reload()
    await change.click()
    expect(await panel.getByLabel('system prompt').inputValue()).equal('Be brief.')
    expect(await panel.getByText('changed').count()).equal(0)
  })

  it('writes a value of a called agent into its file, and names that file', async () => {
    const page = await ui.open('#/play/boss')
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    const panel = page.getByRole('complementary', { name: 'Change' })
    const prompt = panel.locator('.variable', { hasText: 'shop.main' }).getByLabel('system prompt')
    await prompt.fill('Be brief.')
    await panel.getByRole('button', { name: 'Write into agents/shop.yml' }).click()
    await see(page, 'Type y in the terminal of agent-host dev.')
    await sayYes()
    await see(page, 'Wrote agents/shop.yml.')
    await panel.getByText('shop changed: the values here are the new ones.').waitFor()
    expect(await panel.getByText('edited', { exact: true }).count()).equal(0)
    expect(await prompt.inputValue()).equal('Be brief.')
    expect(await ui.project.read('agents/boss.yml')).equal(BOSS)
  })

  it('keeps what was changed after a no, and says why nothing can be written', async () => {
    const page = await ui.open('#/play/shop')
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    const panel = page.getByRole('complementary', { name: 'Change' })
    await panel.getByLabel('system prompt').fill('Be brief.')
    await panel.getByRole('button', { name: 'Write into agents/shop.yml' }).click()
    await see(page, 'Type y in the terminal of agent-host dev.')
    questions.answer('n')
    await see(page, 'Refused in the terminal. Nothing was written.')
    expect(await panel.getByText('edited', { exact: true }).count()).equal(1)
    await panel.getByLabel('system prompt').fill('Be ${SECRET}.')
    await panel.getByRole('button', { name: 'Write into agents/shop.yml' }).click()
    await panel.getByText(/has '\$\{SECRET\}', which this value does not have/).waitFor()
    expect(await ui.project.read('agents/shop.yml')).equal(SHOP['agents/shop.yml'])
    questions.answer('n')
    ui.expected.push(/status of 400/)
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

  it('still says that a question waits after a reload, and no more once dev has started again', async () => {
    const page = await ui.open('#/evals')
    const button = page.getByRole('button', { name: 'Run evals' })
    await button.click()
    await see(page, 'Type y in the terminal of agent-host dev.')
    await page.reload()
    await see(page, 'Type y in the terminal of agent-host dev.')
    expect(await button.isDisabled()).equal(true)
    const port = Number(new URL(ui.url).port)
    await ui.server.close()
    await ui.serve(port)
    await page.getByText('Type y in the terminal of agent-host dev.').waitFor({ state: 'detached' })
    expect(await button.isDisabled()).equal(false)
    ui.forgive()
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
