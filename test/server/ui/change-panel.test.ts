import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { CLIPBOARD, readClipboard, topsOf } from '../../support/browser.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { VARIED_PROJECT } from '../../support/varied.ts'

describe('changes in the playground of the debug UI', function () {
  this.timeout(90_000)
  const ui = DebugUi.forSuite()
  beforeEach(() => ui.add(VARIED_PROJECT))
  const KIND = 'Be kind.|small|-|http://127.0.0.1:1|kind|hi there'
  const SHORT = KIND.replace('Be kind.', 'Be short.')
  const ANSWERS = '.answers .message-text'
  const answers = (page: Page) => page.locator(ANSWERS)
  const say = async (page: Page, text: string) => {
    const message = page.getByRole('textbox', { name: 'Message to talker' })
    await message.fill(text)
    await message.press('Enter')
  }

  it('lead from a bad answer over another prompt to two answers side by side, in four clicks', async () => {
    const page = await ui.open('#/play/talker', { permissions: CLIPBOARD })
    await say(page, 'hi there')
    await see(page, KIND)
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    const prompt = page.getByLabel('system prompt')
    await prompt.click()
    await prompt.fill('Be short.')
    await page.getByRole('button', { name: 'Compare with the original' }).click()
    await answers(page).nth(1).getByText(SHORT).waitFor()
    expect(await answers(page).allInnerTexts()).to.deep.equal([KIND, SHORT])
    await eventually(async () => {
      const [left, right] = await topsOf(page, ANSWERS)
      expect(left).equal(right)
    })
    // Marked are the words that differ, on both sides.
    await eventually(async () => expect(await marked(page)).to.have.members(['kind.|small|-|', 'short.|small|-|']))
    await see(page, 'talker · system_prompt: kind. → short.')
    await page.getByPlaceholder('Message to talker', { exact: true }).waitFor()
    // The run is marked, and the thread is still there after a reload.
    await page.reload()
    await answers(page).nth(1).getByText(SHORT).waitFor()
    await page.getByRole('button', { name: 'Change of column 2' }).click()
    expect(await page.getByLabel('system prompt').inputValue()).to.equal('Be short.')
    // Code to copy names the variant of its column.
    await page.getByRole('button', { name: 'Close the changes' }).click()
    for (const language of ['curl', 'TypeScript', 'Python']) {
      await page.getByRole('button', { name: `Copy as ${language}` }).click()
      await eventually(async () => expect(await readClipboard(page)).to.match(CODES[language] ?? /never/))
    }
    await page.getByRole('button', { name: 'Change of column 2' }).click()
    await page.getByRole('button', { name: 'Copy YAML' }).click()
    await eventually(async () =>
      expect(await readClipboard(page)).to.contain('# What it is told.\n      system_prompt: Be short.'),
    )
  })

  it('are compared with the agent as it is, also where it has answered with them already', async () => {
    const page = await ui.open('#/play/talker')
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByLabel('system prompt').fill('Be short.')
    await say(page, 'hi there')
    await see(page, SHORT)
    await page.getByRole('button', { name: 'Compare with the original' }).click()
    await answers(page).nth(1).getByText(SHORT).waitFor()
    expect(await answers(page).allInnerTexts()).to.deep.equal([KIND, SHORT])
    // The threads, of which there are two now, follow each other from the top.
    const threads = page.getByRole('complementary', { name: 'Threads' })
    const [search, list] = [
      await threads.getByRole('searchbox').boundingBox(),
      await threads.locator('ul').boundingBox(),
    ]
    expect((list?.y ?? 0) - (search?.y ?? 0)).within(20, 60)
  })

  it('can be made by keyboard alone', async () => {
    const page = await ui.open('#/play/talker')
    await say(page, 'hi there')
    await see(page, KIND)
    const press = async (name: string) => {
      const focused = page.locator(`button[aria-label="${name}"]:focus`)
      for (let count = 0; count < 60 && (await focused.count()) === 0; count++) await page.keyboard.press('Tab')
      expect(await focused.count()).to.equal(1)
      await page.keyboard.press('Enter')
    }
    await press('Change')
    await page.locator('textarea:focus').waitFor()
    await page.keyboard.press('Control+A')
    await page.keyboard.type('Be short.')
    await page.keyboard.press('Control+Enter')
    await answers(page).nth(1).getByText(SHORT).waitFor()
    expect(await answers(page).allInnerTexts()).to.deep.equal([KIND, SHORT])
  })

  it('are refused at their value, marked, and reset', async () => {
    const page = await ui.open('#/play/talker')
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    const panel = page.getByRole('complementary', { name: 'Change' })
    await panel.getByLabel('temperature', { exact: true }).fill('3')
    await panel.getByText("module 'llm' (told), config: temperature must be a number from 0 to 2.").waitFor()
    await panel.getByText('edited').waitFor()
    await panel.getByRole('button', { name: 'Reset temperature of llm' }).click()
    await panel.getByText('must be a number').waitFor({ state: 'detached' })
    expect(await panel.getByText('edited').count()).to.equal(0)
    await panel.getByLabel('tone').selectOption('short')
    await panel.getByLabel('system prompt').fill('Use ${TALKER_KEY}')
    await panel.getByText("system_prompt has '${TALKER_KEY}', which this value does not have in the file.").waitFor()
    await panel.getByRole('button', { name: 'Reset all' }).click()
    expect(await panel.getByLabel('system prompt').inputValue()).to.equal('Be kind.')
    ui.expected.push(/400/)
  })

  it('can be written as text, where other lines are refused; a file that changes meanwhile is taken up', async () => {
    const page = await ui.open('#/play/talker')
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByRole('tab', { name: 'YAML' }).click()
    const text = page.getByLabel('Definition')
    const before = await text.inputValue()
    await text.fill(before.replace('id: talker', 'id: other'))
    await see(page, 'Line 2: id may not be changed by a variant.')
    await text.fill(before.replace('Be kind.', 'Be brief.'))
    await page.getByRole('tab', { name: 'Values' }).click()
    await eventually(async () => expect(await page.getByLabel('system prompt').inputValue()).to.equal('Be brief.'))
    await ui.add({ 'agents/talker.yml': VARIED_PROJECT['agents/talker.yml'].replace('max_steps: 4', 'max_steps: 3') })
    await see(page, 'The agent changed meanwhile.')
    await page.getByRole('button', { name: 'Take its new text' }).click()
    await page.getByText('The agent changed meanwhile.').waitFor({ state: 'detached' })
    expect(await page.getByLabel('max steps').inputValue()).to.equal('3')
    ui.expected.push(/400|409/)
  })

  it('begin at a model call of a run, with its prompt and messages; up to four answer', async () => {
    const variant = [{ module: 'main', path: ['system_prompt'], value: 'Be odd.' }]
    const turn = {
      messages: [
        { role: 'user' as const, content: 'first' },
        { role: 'assistant' as const, content: 'one' },
        { role: 'user' as const, content: 'hi there' },
      ],
      variant,
    }
    await ui.server.host.openVariant('talker', variant)
    const { runId } = await ui.server.host.start('talker', turn).result
    const page = await ui.open(`#/runs/${runId}`)
    await see(page, /variant: system_prompt: kind\. → /)
    await page.getByRole('link', { name: 'Open in playground' }).click()
    await see(page, /2 messages before the question · tools: pay/)
    await eventually(async () => expect(await page.getByLabel('system prompt').inputValue()).to.equal('Be odd.'))
    await page.getByRole('button', { name: 'Send' }).click()
    await see(page, KIND.replace('Be kind.', 'Be odd.'))
    await page.evaluate(COMPARE_THRICE)
    expect(await page.getByRole('group', { name: /^Column/ }).count()).to.equal(4)
    expect(await page.getByRole('button', { name: 'Compare', exact: true }).count()).to.equal(0)
  })
})

/** So fast that the browser does not come to anything else. */
const COMPARE_THRICE = `(async () => {
  for (let count = 0; count < 3; count++) {
    document.querySelector('.column-picks > button').click()
    await undefined
  }
})()`

const CODES: Readonly<Record<string, RegExp>> = {
  curl: /^curl .*\n.*\n {2}-H "x-agent-variant: [0-9a-f-]{36}" \\\n/,
  TypeScript: /\}, \{ headers: \{ 'x-agent-variant': '[0-9a-f-]{36}' \} \}\)/,
  Python: /extra_headers=\{"x-agent-variant": "[0-9a-f-]{36}"\},/,
}

/** The marked words of the page. */
function marked(page: Page): Promise<string[]> {
  return page.evaluate("[...(CSS.highlights.get('difference') ?? [])].map(String)")
}
