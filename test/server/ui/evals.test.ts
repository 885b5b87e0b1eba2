import { expect } from 'chai'
import type { Page } from 'playwright-core'
import type { EvalResult, EvalRun } from '../../../src/wire/eval-result.ts'
import { CLIPBOARD, findBarriers, isTooWide, readClipboard } from '../../support/browser.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'

type Score = number | null

/** A result of the cases `hello`, `refund` and so on, with the scores of each column. */
function makeResult(createdAt: number, columns: Readonly<Record<string, Readonly<Record<string, Score>>>>): EvalResult {
  const names = Object.keys(columns)
  const ids = Object.keys(Object.values(columns)[0] ?? {})
  const runOf = (id: string, column: number): EvalRun => {
    const score = columns[names[column] ?? '']?.[id] ?? null
    return {
      case: id,
      column,
      repeat: 1,
      run_id: null,
      status: 'completed',
      output: `${id} scored ${score} at ${createdAt}`,
      error: null,
      tools: [{ name: 'look', arguments: { what: id } }],
      is_played: true,
      duration_ms: 12,
      input_tokens: 3,
      output_tokens: 4,
      cost: 0.002,
      scores: score === null ? [] : [{ name: 'judge', score, metadata: { reason: `Because of ${id}.` } }],
      score,
    }
  }
  return {
    eval_result: 1,
    agent_host: '0.1.0',
    name: 'words',
    status: 'complete',
    created_at: createdAt,
    duration_ms: 1200,
    spent: 0.25,
    request: { files: [], agents: [], variants: [], repeat: 1, filter: [], live: [] },
    columns: names.map((name, index) => {
      const changes = index === 0 ? [] : [{ module: 'main', path: ['style'], value: name }]
      return { name, agent: 'echo', version: null, changes }
    }),
    cases: ids.map((id, index) => {
      return {
        id,
        file: 'evals/words.jsonl',
        line: index + 1,
        input: `What of ${id}?`,
        tags: [],
        tape: null,
        digest: id,
      }
    }),
    runs: names.flatMap((_, column) => ids.map((id) => runOf(id, column))),
    problems: [],
  }
}

const OLDER = makeResult(1_700_000_000, {
  echo: { hello: 1, refund: 1, slow: 0.9, late: 0, odd: null },
  brief: { hello: 1, refund: 1, slow: 1, late: 1, odd: null },
})
const NEWER = makeResult(1_700_086_400, {
  echo: { hello: 1, refund: 0.2, slow: 0.7, late: 0.8, odd: null },
  brief: { hello: 1, refund: 1, slow: 1, late: 1, odd: null },
})

describe('the evals in the debug UI', () => {
  const ui = DebugUi.forSuite({ record: 1 })

  const write = (day: string, text: string | object) =>
    ui.project.write(
      `evals/results/2026-11-${day}T10-00-00-000-words.json`,
      typeof text === 'string' ? text : JSON.stringify(text),
    )
  const cells = (page: Page) => page.locator('.eval-cell')
  const namesOf = async (page: Page) =>
    (await cells(page).evaluateAll((all) => all.map((cell) => cell.getAttribute('aria-label') ?? ''))) as string[]

  it('begin with what to do: a case to copy, and the command', async () => {
    const page = await ui.open('#/evals', { permissions: CLIPBOARD })
    await see(page, 'There are no results yet')
    await page.getByRole('button', { name: 'Copy the command' }).first().click()
    await eventually(async () => expect(await readClipboard(page)).match(/^{"id": "greeting", "input"/))
    await ui.project.write('evals/words.jsonl', '{"id":"hello","input":"hello"}\n')
    await page.reload()
    await see(page, 'Run the cases of evals/words.jsonl:')
    expect(await findBarriers(page)).deep.equal([])
    await page.getByText('agent-host eval', { exact: true }).waitFor()
    await ui.project.remove('evals/words.jsonl')
  })

  it('show texts in the order in which they are written, whatever characters they have', async () => {
    const turned = 'a\u202etxt.exe'
    const result = makeResult(1_700_000_000, { echo: { [turned]: 0 } })
    const runs = result.runs.map((run) => ({ ...run, output: turned, error: turned, status: 'failed' as const }))
    const cases = result.cases.map((row) => ({ ...row, input: turned, expected: turned, tags: [turned], file: turned }))
    const columns = result.columns.map((column) => ({ ...column, name: turned }))
    const problems = [{ where: turned, message: turned }]
    await write('19', { ...result, name: turned, runs, cases, columns, problems })
    const page = await ui.open('#/evals')
    await page.locator('.eval-cell').first().click()
    await page.getByRole('complementary', { name: 'Selected case' }).getByText('Expected').waitFor()
    const shown = await page.evaluate('document.documentElement.outerHTML')
    await ui.project.remove('evals/results/2026-11-19T10-00-00-000-words.json')
    expect(shown)
      .include('a\\u202etxt.exe')
      .and.not.match(/>[^<]*\u202e/)
  })

  it('show cases and variants with what changed first, and both answers of a cell', async () => {
    await write('20', OLDER)
    await write('21', NEWER)
    const page = await ui.open()
    await page.getByRole('link', { name: 'Evals' }).click()
    await page.getByRole('rowheader', { name: /refund/ }).waitFor()
    expect(await namesOf(page)).deep.equal([
      'refund, echo: 0.20 fails now −0.80, failed',
      'refund, brief: 1.00, passed',
      'slow, echo: 0.70 worse −0.20, passed',
      'slow, brief: 1.00, passed',
      'late, echo: 0.80 passes now +0.80, passed',
      'late, brief: 1.00, passed',
      'hello, echo: 1.00, passed',
      'hello, brief: 1.00, passed',
      'odd, echo: –, not judged',
      'odd, brief: –, not judged',
    ])
    // Not by colour alone.
    expect(await cells(page).first().innerText()).match(/^✕\s*0.20\s*fails now −0.80$/)
    const columns = page.getByRole('region', { name: 'Agents and variants' })
    await columns.getByText('score 0.68 (−0.05)').waitFor()
    await columns.getByText('3 of 4 cases passed, 1 not judged').waitFor()
    await columns.getByText(/This may be noise\./).waitFor()
    // Of the plot, for those who cannot see it.
    const plotted = page.getByRole('table', { name: 'Score' })
    expect(await plotted.locator('td').allTextContents()).deep.equal(['0.72', '1.00', '0.68', '1.00'])
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    const panel = page.getByRole('complementary', { name: 'Selected case' })
    await panel.getByText('refund scored 1 at 1700000000').waitFor()
    await panel.getByText('refund scored 0.2 at 1700086400').waitFor()
    await panel.getByText('look {"what":"refund"}').first().waitFor()
    await panel.getByRole('row', { name: 'judge 1.00 0.20 Because of refund.' }).waitFor()
    await panel.getByText('evals/words.jsonl:2').waitFor()
    await page.keyboard.press('Escape')
    await eventually(async () => expect(await panel.count()).equal(0))
    await columns.getByRole('link', { name: /2023/ }).click()
    await see(page, 'the first result of this name')
    expect((await namesOf(page))[3]).equal('refund, brief: 1.00, passed')
  })

  it('open the runs of a case that are traced, and compare them', async () => {
    const [left, right] = [await ui.complete('echo', 'hello'), await ui.complete('echo', 'hello')]
    const withRun = (result: EvalResult, id: string) => {
      return { ...result, runs: result.runs.map((run) => ({ ...run, run_id: run.case === 'hello' ? id : 'gone' })) }
    }
    await write('20', withRun(OLDER, left))
    await write('21', withRun(NEWER, right))
    const page = await ui.open('#/evals?case=refund')
    const panel = page.getByRole('complementary', { name: 'Selected case' })
    await panel.getByText('12 ms').waitFor()
    expect(await panel.getByRole('link').count()).equal(0)
    await page.goto(`${ui.url}/#/evals?case=hello`)
    await panel.getByRole('link', { name: 'Compare their calls' }).click()
    await page.getByRole('heading', { name: 'Compare' }).waitFor()
    expect(page.url()).contain(`left=${left}&right=${right}`)
    await page.goBack()
    await panel.locator(`a[href="#/runs/${right}"]`).click()
    await eventually(() => expect(page.url()).contain(`#/runs/${right}`))
  })

  it('name results that cannot be read, and show the others', async () => {
    await write('20', OLDER)
    await write('21', { ...NEWER, eval_result: 9 })
    await write('22', '{"eval_result": 1, "cut')
    await write('23', { ...NEWER, runs: [{ case: 'refund' }] })
    const page = await ui.open('#/evals')
    await page.getByRole('rowheader', { name: /refund/ }).waitFor()
    const notices = await page.locator('.notice').allInnerTexts()
    expect(notices.length).equal(3)
    expect(notices[0]).match(/-23T.*is left out\s+The result evals\/results\/.*is damaged: /)
    expect(notices[1]).match(/-22T.*is left out\s+The result evals\/results\/.*is not JSON/)
    expect(notices[2]).match(/-21T.*has version 9; this agent-host reads version 1\./)
    expect(await findBarriers(page)).deep.equal([])
    await page.goto(`${ui.url}/#/evals?file=gone.json`)
    await see(page, 'There is no result gone.json')
  })

  it('have no barrier in light and dark, and fit a phone', async () => {
    await write('20', OLDER)
    await write('21', NEWER)
    for (const viewport of [
      { width: 1440, height: 900 },
      { width: 390, height: 844 },
    ]) {
      const page = await ui.open('#/evals?case=refund', { viewport })
      await page.getByText('refund scored 1 at 1700000000').waitFor()
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        expect([viewport.width, colorScheme, await findBarriers(page)]).deep.equal([viewport.width, colorScheme, []])
      }
      await page.keyboard.press('Escape')
      await see(page, 'What of refund?')
      expect(await findBarriers(page)).deep.equal([])
      expect(await isTooWide(page)).equal(false)
    }
  })

  it('take a bad answer as a case: the command to copy, and the tape', async () => {
    await ui.project.write('evals/words.jsonl', '{"id":"hello","input":"hello"}\n')
    const page = await ui.open('#/play/echo', { permissions: CLIPBOARD, acceptDownloads: true })
    await page.getByLabel('Message to echo').fill('bad luck')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('button', { name: 'Bad answer: save as a case' }).click()
    const dialog = page.getByRole('dialog', { name: 'Save as a case' })
    await dialog.getByLabel('File of cases').waitFor()
    expect(await findBarriers(page)).deep.equal([])
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Download its tape' }).click(),
    ])
    const run = download.suggestedFilename().replace('.jsonl.gz', '')
    await dialog.getByRole('button', { name: 'Copy the command' }).click()
    await eventually(async () =>
      expect(await readClipboard(page)).equal(`agent-host runs save ${run} --case evals/words.jsonl`),
    )
    await dialog.getByLabel('File of cases').fill('evals/luck.jsonl')
    await dialog.getByText(`agent-host runs save ${run} --case evals/luck.jsonl`, { exact: true }).waitFor()
    await page.goto(`${ui.url}/#/runs/${run}`)
    await page.getByRole('button', { name: 'Save as test' }).click()
    await page.getByText(`agent-host runs save ${run} --case evals/words.jsonl`, { exact: true }).waitFor()
    await ui.project.remove('evals/words.jsonl')
  })

  it('are not for pages of other sites', async () => {
    await write('21', NEWER)
    const query = '{ evals { results { file } case_files } eval_result { file } }'
    const seen = await ask(ui.server, query, {}, { origin: 'http://evil.test' })
    expect(seen).deep.equal({ evals: { results: [], case_files: [] }, eval_result: null })
    const own = await ask<{ eval_result: { file: string } }>(ui.server, query)
    expect(own.eval_result.file).equal('2026-11-21T10-00-00-000-words.json')
  })

  afterEach(async () => {
    if (ui.project?.exists('evals/results')) await ui.project.remove('evals/results')
  })
})
