import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { CLIPBOARD, findBarriers, isTooWide, readClipboard } from '../../support/browser.ts'
import { callCli } from '../../support/call-cli.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { pathOfTape } from '../../support/tapes.ts'

describe('a recorded run in the debug UI', function () {
  this.timeout(60_000)
  const ui = DebugUi.forSuite({ record: 1 })

  /** Runs an agent, and waits for the tape. */
  const record = async (agent: string, text: string) => {
    const handle = ui.server.host.start(agent, { messages: [{ role: 'user', content: text }] })
    await handle.result.catch(() => {})
    await eventually(() => expect(existsSync(pathOfTape(ui.project.dir, handle.id))).equal(true))
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
    await dialog.getByRole('button', { name: 'Copy the command' }).click()
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
})
