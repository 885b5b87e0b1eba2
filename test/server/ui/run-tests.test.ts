import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { pathOfTape } from '../../../src/tape/file/tape-folder.ts'
import { CLIPBOARD, findBarriers, isTooWide, readClipboard } from '../../support/browser.ts'
import { callCli } from '../../support/call-cli.ts'
import { counted, SHOP } from '../../support/counting-shop.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { untilTaped } from '../../support/tapes.ts'

/** An agent that calls a tool as often as it is told. */
const MANY = {
  'agents/many.yml': 'id: many\nmodules: [{ id: main, module: many }, { id: tools, module: desk }]',
  'modules/many.ts': `import { defineModule, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Many', provides: [TextMessageHandler], uses: { tools: ToolProvider, response: Response },
  create: ({ tools, response }) => ({ async handleText(text, run) {
    for (let n = 0; n < Number(text); n++) await tools.executeTool('find', { order: (n * n) % 7 }, run)
    await response.respondText(text)
  } }) })`,
}

describe('a recorded run in the debug UI', () => {
  const ui = DebugUi.forSuite({ record: 1 }, { ...SHOP, ...MANY })

  /** Runs an agent, and waits for the tape. */
  const record = async (agent: string, text: string) => {
    const handle = ui.server.host.start(agent, { messages: [{ role: 'user', content: text }] })
    await handle.result.catch(() => {})
    await untilTaped(ui.project.dir, handle.id)
    return handle.id
  }
  const downloadsOf = async (page: Page, count: number, act: () => Promise<void>) => {
    const files: Promise<[string, Buffer]>[] = []
    page.on('download', (download) => {
      files.push(download.path().then(async (path) => [download.suggestedFilename(), await readFile(path)]))
    })
    await act()
    await eventually(() => expect(files).length(count))
    return Object.fromEntries(await Promise.all(files))
  }

  it('that failed is a downloaded test after three clicks: the files that `runs save` writes', async () => {
    const run = await record('finder', 'fail')
    const page = await ui.open('#/runs', { acceptDownloads: true, permissions: CLIPBOARD })
    const files = await downloadsOf(page, 2, async () => {
      await page.getByRole('link', { name: /The planner gave up/ }).click()
      await page.getByRole('button', { name: 'Save as test' }).click()
      await page.getByRole('button', { name: 'Download both files' }).click()
    })
    const saved = await callCli(['runs', 'save', run], { cwd: ui.project.dir })
    const name = `finder-${run.slice(0, 8)}`
    expect(saved.stdout).contain(`Created tests/${name}.test.ts`)
    expect(Object.keys(files).sort()).deep.equal([`${name}.jsonl.gz`, `${name}.test.ts`])
    expect(String(files[`${name}.test.ts`])).equal(await ui.project.read(`tests/${name}.test.ts`))
    const tape = await readFile(ui.project.path(`tests/tapes/${name}.jsonl.gz`))
    expect(tape.equals(files[`${name}.jsonl.gz`] as Buffer)).equal(true)
  })

  it('offers the command with the name of the test, and says what a tape holds', async () => {
    const run = await record('finder', 'fail')
    const page = await ui.open(`#/runs/${run}`, { permissions: CLIPBOARD })
    await page.getByRole('button', { name: 'Save as test' }).click()
    const dialog = page.getByRole('dialog', { name: 'Save as test' })
    await dialog.getByText(`agent-host runs save ${run}`, { exact: true }).waitFor()
    await dialog.getByText(/The tape holds the whole run: .* Secrets are written as \$\{NAME\}/).waitFor()
    await dialog.getByLabel('Name').fill('closed')
    await dialog.getByText('tests/tapes/closed.jsonl.gz').waitFor()
    await dialog.getByRole('button', { name: 'Copy the command' }).first().click()
    await eventually(async () => expect(await readClipboard(page)).equal(`agent-host runs save ${run} --name closed`))
    expect(await findBarriers(page)).deep.equal([])
    await dialog.getByLabel('Name').fill('../closed')
    await see(page, "The name of a test must be letters, digits, '-' and '_', not '../closed'.")
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await isTooWide(page)).equal(false)
    await page.keyboard.press('Escape')
    await eventually(async () => expect(await dialog.count()).equal(0))
  })

  it('is exported as its tape', async () => {
    const run = await record('echo', 'hello')
    const page = await ui.open(`#/runs/${run}`, { acceptDownloads: true })
    await page.getByRole('button', { name: 'Save as test' }).waitFor()
    const files = await downloadsOf(page, 1, () => page.getByRole('button', { name: 'Export' }).click())
    expect(Object.keys(files)).deep.equal([`echo-${run}.jsonl.gz`])
    expect(files[`echo-${run}.jsonl.gz`]?.equals(await readFile(pathOfTape(ui.project.dir, run)))).equal(true)
  })

  it('is run again with another prompt, and compared with the rerun', async () => {
    counted('clerkAsked').length = 0
    counted('deskDone').length = 0
    const run = await record('shop', 'Where is A1?')
    const page = await ui.open(`#/runs/${run}`)
    await page.getByRole('button', { name: 'Rerun from here' }).click()
    const form = page.getByRole('form', { name: 'Rerun from here' })
    await form.getByLabel('system prompt').fill('Be brief.')
    expect(await findBarriers(page)).deep.equal([])
    await form.getByRole('button', { name: 'Rerun and compare' }).click()
    const second = page.getByRole('region', { name: 'Second run' })
    await second.getByText('replay from call 4').waitFor()
    await second.getByText('Be brief. | - | find A1').waitFor()
    await page.getByRole('region', { name: 'First run' }).getByText('Be kind. | - | find A1').waitFor()
    expect([counted('clerkAsked').length, counted('deskDone')]).deep.equal([3, ['find A1']])
    const options = page.getByRole('listbox', { name: 'Calls side by side' }).getByRole('option')
    await eventually(async () => expect(await options.count()).equal(4))
    // The first model call is the recorded one: the changed prompt alone is another question.
    expect(await options.locator('.compare-mark').allInnerTexts()).deep.equal(['', 'asked', '', 'asked, result'])
    await page.goto(`${ui.url}/#/runs`)
    await page.getByRole('link', { name: /Where is A1\?.*replay/s }).waitFor()
  })

  it('is run again with other arguments and results; what does not fit is said at its value', async () => {
    const run = await record('shop', 'Where is A1?')
    const page = await ui.open(`#/runs/${run}`)
    await page.getByRole('treeitem', { name: /find\(A1\)/ }).click()
    await page.getByRole('button', { name: 'Rerun from here' }).click()
    const form = page.getByRole('form', { name: 'Rerun from here' })
    await form.getByRole('tab', { name: 'Arguments' }).click()
    const tools = form.getByLabel('Call tools for real, with their approvals')
    expect([await tools.isChecked(), await tools.isDisabled()]).deep.equal([true, true])
    const rerun = form.getByRole('button', { name: 'Rerun and compare' })
    await form.getByRole('textbox', { name: 'Arguments' }).fill('{ "order": ')
    await rerun.click()
    await form.getByText(/^This is no JSON:/).waitFor()
    await form.getByRole('textbox', { name: 'Arguments' }).fill('{ "order": "B2" }')
    await rerun.click()
    await page.getByRole('region', { name: 'Second run' }).getByText('find B2 | {"order":"B2"}').waitFor()
    await page.goto(`${ui.url}/#/runs/${run}`)
    await page.getByRole('button', { name: 'Rerun from here' }).click()
    ui.expected.push(/status of 400/)
    await form.getByLabel('temperature').fill('warm')
    await rerun.click()
    await form.getByText(/temperature must be a number/).waitFor()
    await form.getByRole('tab', { name: 'Answer' }).click()
    await form.getByRole('textbox', { name: 'Answer' }).fill('On its way.')
    await form.getByRole('tab', { name: 'Values' }).click()
    await form.getByRole('button', { name: 'Reset temperature of llm' }).click()
    await form.getByRole('tab', { name: 'Answer' }).click()
    await rerun.click()
    await page.getByRole('region', { name: 'Second run' }).getByText('On its way.').waitFor()
  })

  it('is compared with another one by keyboard alone', async () => {
    const older = await record('shop', 'Where is A1?')
    const newer = await record('shop', 'Refund A1?')
    const page = await ui.open('#/runs')
    await see(page, 'Refund A1?')
    for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key)
    await page.getByRole('status').getByText('Two runs are chosen.').waitFor()
    expect(await findBarriers(page)).deep.equal([])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Compare' }).waitFor()
    // The browser hears of the new address after the page has drawn it.
    await page.waitForURL((url) => url.hash === `#/compare?left=${older}&right=${newer}`)
    const list = page.getByRole('listbox', { name: 'Calls side by side' })
    const selected = () => list.locator('[aria-selected="true"]').innerText()
    await eventually(async () => expect(await selected()).match(/asked/))
    await page.getByRole('complementary', { name: 'Selected calls' }).getByText('user: Refund A1?').waitFor()
    await page.keyboard.press('Home')
    await eventually(async () => expect(await selected()).match(/handleText/))
    await page.keyboard.press('j')
    // Two calls may look the same.
    const place = () => list.getAttribute('aria-activedescendant')
    await eventually(async () => expect(await selected()).not.match(/handleText/))
    const first = await place()
    await page.keyboard.press('n')
    await eventually(async () => expect(await place()).not.equal(first))
    await page.keyboard.press('p')
    await eventually(async () => expect(await place()).equal(first))
    await page.keyboard.press('d')
    await eventually(async () => expect(await list.getByRole('option').count()).equal(3))
    await page.keyboard.press('Escape')
    await eventually(async () =>
      expect(await page.getByRole('complementary', { name: 'Selected calls' }).count()).equal(0),
    )
    await page.keyboard.press('s')
    await eventually(() => expect(page.url()).contain(`left=${newer}&right=${older}`))
    await page.getByRole('region', { name: 'First run' }).getByText('Refund A1?', { exact: true }).waitFor()
    expect(await findBarriers(page)).deep.equal([])
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await isTooWide(page)).equal(false)
    await page.reload()
    await see(page, 'Compare')
  })

  it('of 5,000 calls is compared with another one row by row, as far as rows can be seen', async () => {
    const runs = [await record('many', '5000'), await record('many', '4990')]
    const page = await ui.open(`#/compare?left=${runs[0]}&right=${runs[1]}`)
    const list = page.getByRole('listbox', { name: 'Calls side by side' })
    await list.locator('[aria-setsize="5001"]').first().waitFor({ timeout: 30_000 })
    await page.keyboard.press('End')
    await list.locator('[aria-posinset="5001"][aria-selected="true"]').getByText('only 1st').waitFor()
    expect(await list.getByRole('option').count()).below(100)
  })
})
