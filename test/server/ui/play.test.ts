import { expect } from 'chai'
import { CLIPBOARD, readClipboard, topsOf } from '../../support/browser.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'
import { SHOP_MODULES, shopAgent } from '../../support/shop.ts'

describe('the playground of the debug UI', () => {
  const ui = DebugUi.forSuite()

  it('keeps a run going when the page is left, and restores the thread by its address', async () => {
    const page = await ui.open('#/play/finder')
    await page.getByLabel('Message to finder').fill('slow keys')
    await page.getByRole('button', { name: 'Send' }).click()
    await see(page, /I looked for slow keys more/)
    await page.getByRole('link', { name: 'View the run' }).click()
    await see(page, 'planner.handleText')
    const statuses = '{ runs { runs { status } } }'
    expect(await ask(ui.server, statuses)).deep.equal({ runs: { runs: [{ status: 'running' }] } })
    await page.goBack()
    await see(page, /I looked for slow keys more more/)
    await page.reload()
    await see(page, /I looked for slow keys more more more/)
    await page.getByRole('button', { name: 'Stop' }).click()
    await see(page, 'Stopped')
    await eventually(async () =>
      expect(await ask(ui.server, statuses)).deep.equal({ runs: { runs: [{ status: 'cancelled' }] } }),
    )
  })

  it('shows tool calls with arguments, result and time, and continues the conversation', async () => {
    const page = await ui.open('#/play/finder')
    const message = page.getByLabel('Message to finder')
    await message.fill('keys')
    await message.press('Enter')
    const near = page.getByText('look_near(keys)')
    await near.click()
    await see(page, 'found keys')
    await see(page, /failed, \d+/)
    await message.fill('glasses')
    await message.press('Enter')
    await see(page, 'I looked for glasses')
    // One thread of two turns, and each run knows the one before.
    expect(await page.getByRole('article').count()).equal(4)
    expect(await page.locator('.thread').count()).equal(1)
    await page.getByRole('button', { name: 'Edit the question' }).first().click()
    expect(await message.inputValue()).equal('keys')
    await message.fill('a pen')
    await message.press('Enter')
    await see(page, 'I looked for a pen')
    expect(await page.getByRole('article').count()).equal(2)
    await page.getByRole('button', { name: 'Remove the thread' }).click()
    await see(page, 'Ask finder')
  })

  it('scrolls to a decision, and leaves a reader who has scrolled up in place', async () => {
    await ui.add({ ...SHOP_MODULES, 'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }') })
    const question = `please${'\n'.repeat(50)}now`
    for (const viewport of [
      { width: 1440, height: 900 },
      { width: 390, height: 844 },
    ]) {
      const page = await ui.open('#/play/shop', { viewport })
      const message = page.getByLabel('Message to shop')
      await message.fill(question)
      await page.getByRole('button', { name: 'Send' }).click()
      const approve = page.getByRole('button', { name: 'Approve' })
      await approve.waitFor()
      const log = await page.getByRole('log').boundingBox()
      await eventually(async () => {
        const box = await approve.boundingBox()
        expect((box?.y ?? 0) + (box?.height ?? 0)).within(log?.y ?? 0, (log?.y ?? 0) + (log?.height ?? 0))
      })
    }
    const page = await ui.open('#/play/finder')
    await page.getByLabel('Message to finder').fill(`slow${'\n'.repeat(50)}keys`)
    await page.getByRole('button', { name: 'Send' }).click()
    await see(page, /keys more/)
    const top = () => page.getByRole('log').evaluate(({ scrollTop }) => scrollTop)
    await eventually(async () => expect(await top()).greaterThan(100))
    // What is added in the same moment comes before the event of the scroll.
    await page.getByRole('log').evaluate((log) => {
      log.scrollTo(0, 0)
      log.append(' ')
      log.lastChild?.remove()
    })
    await see(page, /keys more more more more/)
    expect(await top()).equal(0)
    await page.getByRole('button', { name: 'Stop' }).click()
    await see(page, 'Stopped')
  })

  it('finds threads by their questions', async () => {
    const page = await ui.open('#/play/echo')
    const message = page.getByLabel('Message to echo')
    for (const question of ['about the sea', 'about the hills']) {
      await message.fill(question)
      await message.press('Enter')
      await page.getByRole('article').nth(1).getByText(question).waitFor()
      await page.getByRole('link', { name: 'New', exact: true }).click()
      await see(page, 'Ask echo')
    }
    expect(await page.locator('.thread-title').allInnerTexts()).deep.equal(['about the hills', 'about the sea'])
    await page.getByLabel('Search threads').fill('SEA')
    expect(await page.locator('.thread-title').allInnerTexts()).deep.equal(['about the sea'])
    await page.getByLabel('Search threads').fill('nothing like it')
    await see(page, 'No thread with this text.')
  })

  it('copies the message as code for curl and both clients of OpenAI', async () => {
    const page = await ui.open('#/play/finder', { permissions: CLIPBOARD })
    await page.getByLabel('Message to finder').fill('Where is "it"?')
    for (const [language, text] of [
      ['curl', /^curl http[\s\S]*"content":"Where is \\"it\\"\?"/],
      ['TypeScript', /^import OpenAI[\s\S]*model: "finder"[\s\S]*content: "Where is \\"it\\"\?"/],
      ['Python', /^from openai import[\s\S]*model="finder"[\s\S]*"content": "Where is \\"it\\"\?"/],
    ] as const) {
      await page.getByRole('button', { name: `Copy as ${language}` }).click()
      await eventually(async () => expect(await readClipboard(page)).match(text))
    }
  })

  it('says whether a text was copied, where the clipboard is forbidden', async () => {
    const page = await ui.open('#/play/echo')
    await page.getByLabel('Message to echo').fill('hi there')
    await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('forbidden'))`)
    const curl = page.getByRole('button', { name: 'Copy as curl' })
    await curl.click()
    await curl.getByText('Copied', { exact: true }).waitFor({ state: 'attached' })
    await page.evaluate('document.execCommand = () => false')
    const python = page.getByRole('button', { name: 'Copy as Python' })
    await python.click()
    await python.getByText('Not copied').waitFor({ state: 'attached' })
  })

  it('keeps what stands below each answer within its column, also of four', async () => {
    await ui.add({
      'agents/talker.yml': `id: talker
modules:
  - id: llm
    module: llm/mock
    config: { replies: [{ text: Yes, usage: { model: gpt-4.1, input_tokens: 1000000, output_tokens: 200000 } }] }
  - { id: loop, module: orchestrator/tool-loop }`,
    })
    const page = await ui.open('#/play/talker', { viewport: { width: 1440, height: 900 } })
    for (let count = 2; count <= 4; count++) {
      await page.getByRole('button', { name: 'Compare', exact: true }).click()
      await page.getByRole('group', { name: `Column ${count}` }).waitFor()
    }
    await page.getByRole('textbox', { name: /^Message to/ }).fill('hi')
    await page.keyboard.press('Enter')
    const feet = page.locator('.message.assistant .message-foot')
    await page.getByRole('link', { name: 'View the run' }).nth(3).waitFor()
    const widths = await feet.evaluateAll((all) => all.map((each) => each.scrollWidth - each.clientWidth))
    expect(widths).deep.equal([0, 0, 0, 0])
  })

  it('has two agents answer the same message side by side, and keeps the comparison', async () => {
    const page = await ui.open('#/play/echo')
    await page.getByRole('button', { name: 'Compare', exact: true }).click()
    await page.getByLabel('Compare with').selectOption('desk/billing')
    await page.getByLabel('Message to echo and desk/billing').waitFor()
    await page.getByLabel('Temperature of column 2').fill('0.2')
    // The page is drawn again meanwhile.
    await page.setViewportSize({ width: 700, height: 900 })
    await page.getByPlaceholder('Temp', { exact: true }).nth(1).blur()
    await page.setViewportSize({ width: 1280, height: 900 })
    const message = page.getByLabel('Message to echo and desk/billing · temperature 0.2')
    await message.fill('good morning')
    await message.press('Enter')
    const answers = page.getByRole('article')
    await answers.nth(2).getByText('billing good morning').waitFor()
    await answers.nth(1).getByText('good morning', { exact: true }).waitFor()
    expect(await answers.count()).equal(3)
    await page.reload()
    await answers.nth(2).getByText('billing good morning').waitFor()
    await page.locator('.thread').getByText('echo | desk/billing').waitFor()
    await eventually(async () => {
      const [, left, right] = await topsOf(page, 'article')
      expect(left).equal(right)
    })
    await page.getByRole('button', { name: 'End the comparison' }).click()
    await see(page, 'Ask echo')
  })

  it('sends files to an agent that accepts them, and rejects others', async () => {
    await ui.add({
      'modules/viewer.ts': `import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Viewer', provides: [TextMessageHandler], uses: { response: Response, history: ConversationHistory },
  attachments: ['image/*', 'application/pdf'],
  create: ({ response, history }) => ({ async handleText(text) {
    const { attachments = [] } = (await history.getHistory()).at(-1)
    await response.respondText(text + ': ' + attachments.map(({ mediaType, data }) => mediaType + ' ' + data.length).join(', '))
  } }) })`,
      'agents/viewer.yml': 'id: viewer\nmodules: [{ id: main, module: viewer }]',
    })
    const page = await ui.open('#/play/viewer')
    const field = page.getByLabel('Files to attach')
    await field.setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no') })
    await see(page, 'notes.txt is not taken: the agent takes image/*, application/pdf.')
    await field.setInputFiles([
      { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(DOT, 'base64') },
      { name: 'bill.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7') },
    ])
    await page.getByRole('list', { name: 'Attached files' }).getByText('bill.pdf').waitFor()
    const message = page.getByLabel('Message to viewer')
    await message.fill('look')
    await message.press('Enter')
    await see(page, 'look: image/png 70, application/pdf 8')
    await page.getByRole('list', { name: 'Files', exact: true }).getByAltText('dot.png').waitFor()
    await page.getByRole('button', { name: 'Retry' }).click()
    await eventually(async () => expect(await ask(ui.server, '{ runs { total } }')).deep.equal({ runs: { total: 2 } }))
    await see(page, 'look: image/png 70, application/pdf 8')
    await page.goto(`${ui.url}/#/play/echo`)
    await see(page, 'Ask echo')
    expect(await field.count()).equal(0)
  })

  it("suggests questions based on the agent's tools", async () => {
    const page = await ui.open('#/play/finder')
    await page.getByRole('button', { name: 'What can you do with near?' }).waitFor()
    await ui.complete('finder', 'keys')
    await page.reload()
    const question = 'Can you look there? The what is ….'
    await page.getByRole('button', { name: question }).first().click()
    expect(await page.getByLabel('Message to finder').inputValue()).equal(question)
  })

  it('suggests the examples of the agent file alone where it has some', async () => {
    await ui.add({ 'agents/keen.yml': 'id: keen\nexamples: [Where is it?]\nmodules: [{ id: main, module: echo }]' })
    const page = await ui.open('#/play/keen')
    const questions = page.getByRole('list', { name: 'Questions to try' })
    await questions.waitFor()
    expect(await questions.getByRole('button').allTextContents()).deep.equal(['Where is it?'])
    await questions.getByRole('button').click()
    await page.getByRole('log').getByText('Where is it?').first().waitFor()
    await page.getByRole('link', { name: 'View the run' }).waitFor()
  })

  it('suggests no question about a file that is not there', async () => {
    await ui.add({ 'agents/mute.yml': MUTE })
    const page = await ui.open('#/play/mute')
    await page.getByRole('button', { name: 'What can you do for me?' }).waitFor()
    await page.getByRole('button', { name: /^Attach / }).waitFor()
    expect(await page.getByRole('button', { name: /this file/ }).count()).equal(0)
  })
})

/** Takes files of every kind. */
const MUTE = `id: mute
modules: [{ id: llm, module: llm/mock, config: { replies: [Yes.] } }, { id: loop, module: orchestrator/tool-loop }]`
/** A picture of one pixel. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
