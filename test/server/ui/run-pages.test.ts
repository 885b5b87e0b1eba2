import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { CLIPBOARD, isTooWide, readClipboard } from '../../support/browser.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'

describe('runs in the debug UI', () => {
  const ui = DebugUi.forSuite()

  it('opens a call by its address, and shows messages and errors', async () => {
    const run = await ui.complete('finder', 'keys')
    const page = await ui.open(`#/runs/${run}`)
    await page.getByRole('tab', { name: 'Sequence' }).click()
    await page.getByRole('button', { name: /planner calls far\.executeTool look_far\(keys\), failed/ }).click()
    const details = page.getByRole('complementary', { name: 'Selected call' })
    await details.getByText('Error: It is closed there').waitFor()
    await details.getByText('look_far(keys)').waitFor()
    const address = page.url()
    expect(address).contain(`/runs/${run}?view=sequence&call=`)
    const other = await ui.open(address.slice(address.indexOf('#')))
    await other.getByText('Error: It is closed there').waitFor()
    // The selection is shared by the views, and Escape ends it.
    await other.getByRole('tab', { name: 'Trace' }).click()
    await other.locator('.trace-row[data-selected="true"]').getByText('look_far(keys)').waitFor()
    await other.keyboard.press('Escape')
    await eventually(async () => expect(await other.locator('[data-selected="true"]').count()).equal(0))
  })

  it('loads more runs while scrolling, page by page', async () => {
    await Promise.all(Array.from({ length: 230 }, (_, n) => ui.complete('echo', `question ${n}`)))
    const page = await ui.open('#/runs')
    await page.getByText('230 runs').waitFor()
    const list = page.getByRole('list', { name: 'Runs' })
    const lastRow = list.locator('[data-index="229"]')
    await eventually(async () => {
      await page.locator('.run-list').evaluate((element: { scrollTop: number; scrollHeight: number }) => {
        element.scrollTop = element.scrollHeight
      })
      expect(await lastRow.count()).equal(1)
    }, 10_000)
  })

  it('shows in the rows of a phone what was answered, or why it failed, and when', async () => {
    await ui.complete('finder', 'fail')
    await ui.complete('finder', 'keys')
    await eventually(async () => expect(await ask(ui.server, '{ runs { total } }')).deep.equal({ runs: { total: 2 } }))
    const page = await ui.open('#/runs', { viewport: { width: 390, height: 844 } })
    const rows = page.getByRole('list', { name: 'Runs' }).getByRole('listitem')
    for (const said of [/The planner gave up/, /I looked for keys/]) {
      const row = rows.filter({ hasText: said })
      for (const text of [said, 'finder', /^\d\d:\d\d:\d\d$/]) {
        const box = await row.getByText(text).boundingBox()
        const frame = await row.boundingBox()
        expect([text, box?.height, (frame?.y ?? 0) + (frame?.height ?? 0) - (box?.y ?? 0)]).satisfy(
          ([, height, room]: [unknown, number, number]) => height > 10 && room > height,
        )
      }
    }
    const filter = page.getByLabel('Module')
    expect((await filter.boundingBox())?.x).greaterThan(390)
    await filter.selectOption('planner')
    await page.locator('.chip', { hasText: 'planner' }).waitFor()
    expect((await rows.first().boundingBox())?.y).lessThan(300)
  })

  it('fits a phone before the first run', async () => {
    const page = await ui.open('#/runs', { viewport: { width: 390, height: 844 } })
    await see(page, 'No run yet')
    expect(await isTooWide(page)).equal(false)
  })

  it('opens a conversation at the turn of the run', async () => {
    await ui.add({
      'agents/talker.yml': `id: talker
modules:
  - { id: llm, module: llm/mock, config: { replies: ['First answer', 'Second answer'] } }
  - { id: loop, module: orchestrator/tool-loop }`,
    })
    const first = await send({ model: 'talker', input: `keys ${'\n\nand keys'.repeat(40)}` })
    const second = await send({ model: 'talker', input: 'a pen', previous_response_id: first })
    const page = await ui.open(`#/runs/${second.replace('resp_', '')}?view=conversation`)
    const line = page.getByText('This run', { exact: true })
    await line.waitFor()
    const [log, top] = [await page.getByRole('log').boundingBox(), await line.boundingBox()]
    expect((top?.y ?? 0) - (log?.y ?? 0)).within(-5, 400)
  })

  async function send(payload: object): Promise<string> {
    return (await ui.server.app.inject({ method: 'POST', url: '/compat/responses', payload })).json().id
  }

  it('filters runs, and keeps the filter in the address', async () => {
    await ui.complete('finder', 'keys')
    await ui.complete('finder', 'fail')
    await ui.complete('echo', 'hello there')
    const page = await ui.open('#/runs')
    const rows = page.getByRole('list', { name: 'Runs' }).getByRole('listitem')
    const shown = async (count: number) => eventually(async () => expect(await rows.count()).equal(count))
    await shown(3)
    await page.getByLabel('Agent').selectOption('finder')
    await shown(2)
    await page.getByLabel('Status').selectOption('failed')
    await shown(1)
    expect(page.url()).contain('#/runs?agent=finder&status=failed')
    await page.reload()
    await shown(1)
    await page.getByRole('button', { name: 'Clear' }).click()
    await shown(3)
    await page.getByLabel('Text', { exact: true }).fill('hello')
    await shown(1)
    await page.getByLabel('Text', { exact: true }).fill('')
    await page.getByLabel('Event').selectOption('exception')
    await shown(2)
    await page.getByLabel('Event').selectOption('result')
    await page.getByLabel('Event').selectOption('call')
    await shown(3)
    await page.getByLabel('Text', { exact: true }).fill('nothing of the kind')
    await see(page, 'No matching runs')
  })

  it('lists the models and tools of each run, and marks a tool that failed', async () => {
    await ui.complete('finder', 'keys')
    const page = await ui.open('#/runs')
    const used = page.getByRole('list', { name: 'Runs' }).locator('.run-model')
    await used.getByText('look_near', { exact: true }).waitFor()
    expect((await used.innerText()).trim()).equal('look_near, ✕ look_far')
    expect(await used.locator('[title]').evaluateAll((all) => all.map(({ title }) => title))).deep.equal([
      'look_near: 1 call',
      'look_far: 1 call, 1 failed',
    ])
  })

  it('filters the events of a run by type, and keeps the filter in the address', async () => {
    const run = await ui.complete('finder', 'keys')
    const page = await ui.open(`#/runs/${run}?view=events`)
    const types = page.locator('.event-row > :nth-child(3)')
    const shown = (expected: string[]) =>
      eventually(async () => expect([...new Set(await types.allInnerTexts())]).have.members(expected))
    await shown(['call', 'result', 'exception'])
    await page.getByRole('combobox', { name: 'Event' }).selectOption('exception')
    await shown(['exception'])
    await see(page, 'look_far(keys)')
    await page.reload()
    await shown(['exception'])
    await page.getByRole('combobox', { name: 'Event' }).selectOption('result')
    await shown(['result'])
  })

  it('holds new runs back so that rows do not move, and updates visible ones', async () => {
    for (let run = 0; run < 30; run++) await ui.complete('echo', `old ${run}`)
    // A list that was read before the live stream begins is read again, new runs and all.
    const page = await ui.open('#/agents')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.goto(`${ui.url}/#/runs`)
    await see(page, 'old 29')
    await page.locator('[data-index="0"]').focus()
    for (let press = 0; press < 3; press++) await page.keyboard.press('ArrowDown')
    const focused = () => page.locator(':focus').innerText()
    expect(await focused()).contain('old 26')
    for (let run = 0; run < 2; run++) await ui.complete('echo', `new ${run}`)
    await page.getByRole('button', { name: '2 new runs' }).waitFor()
    expect(await focused()).contain('old 26')
    expect(await page.getByText('new 1').count()).equal(0)
    await page.getByRole('button', { name: '2 new runs' }).click()
    await see(page, 'new 1')
    await page.keyboard.press('Tab')
    await page.locator('[data-index="0"]').focus()
    await page.keyboard.press('Enter')
    await see(page, 'main.handleText')
    expect(page.url()).match(/#\/runs\/[0-9a-f-]{36}$/)
    await page.goBack()
    await page.locator('[data-selected="true"]').getByText('new 1').first().waitFor()
  })

  it('chats with an agent, stops it, and links to the live run', async () => {
    const page = await ui.open('#/play/finder')
    const message = page.getByLabel('Message to finder')
    await message.fill('keys')
    await message.press('Enter')
    await page.getByRole('article').nth(1).getByText('I looked for keys').waitFor()
    await message.fill('slow keys')
    await message.press('Enter')
    const link = page.getByRole('link', { name: 'View the run' }).nth(1)
    await link.waitFor()
    const run = (await link.getAttribute('href')) ?? ''
    const other = await ui.open(run)
    await other.getByText('running').first().waitFor()
    const elapsedMs = async () => {
      const text = await other.locator('.run-clock').innerText()
      return Number.parseFloat(text) * (text.endsWith('ms') ? 1 : 1000)
    }
    const before = await elapsedMs()
    await eventually(async () => expect(await elapsedMs()).greaterThan(before))
    await page.getByRole('button', { name: 'Stop' }).click()
    await see(page, 'Stopped')
    await other.getByText('cancelled').first().waitFor()
    await page.getByRole('link', { name: 'New', exact: true }).click()
    await see(page, 'Ask finder')
    await page.getByLabel('Agent').selectOption('desk')
    await page.getByLabel('Entry point').selectOption('billing')
    await page.getByLabel('Message to desk/billing').fill('hello')
    await page.getByRole('button', { name: 'Send' }).click()
    await see(page, 'billing hello')
  })

  it('draws only the visible part of a run of 5,000 calls, and scrolls to its end', async () => {
    const run = await ui.complete('finder', '5000 calls')
    const page = await ui.open(`#/runs/${run}`)
    await page.getByLabel('All 5,004 calls').check({ timeout: 20_000 })
    for (const [view, frame] of [
      ['Sequence', '.sequence'],
      ['Trace', '.trace-rows'],
      ['Events', '.events'],
    ] as const) {
      await page.getByRole('tab', { name: view }).click()
      await page.locator(frame).evaluate((element: { scrollTop: number; scrollHeight: number }) => {
        element.scrollTop = element.scrollHeight
      })
      await page.getByText('respondText').first().waitFor()
      expect(await page.locator('main *').count()).lessThan(1500)
    }
  })

  it('folds repetitions, and unfolds them on request', async () => {
    await ui.project.write(
      'modules/repeats.ts',
      `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Repeats', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText() { for (let n = 0; n < 30; n++) await response.respondText('word ') } }) })`,
    )
    await ui.project.write('agents/repeats.yml', 'id: repeats\nmodules: [{ id: main, module: repeats }]')
    await eventually(() => expect(ui.server.host.get('repeats')?.id).equal('repeats'))
    const page = await ui.open(`#/runs/${await ui.complete('repeats', 'go')}?view=sequence&all=1`)
    const fold = page.getByRole('button', { name: /29 more × response\.respondText/ })
    await fold.waitFor()
    expect(await page.locator('[data-call]').count()).equal(2)
    await fold.press('Enter')
    await eventually(async () => expect(await page.locator('[data-call]').count()).greaterThan(12))
  })

  it('exports a run as a file and as Mermaid', async () => {
    const run = await ui.complete('echo', 'hello')
    const page = await ui.open(`#/runs/${run}`, {
      acceptDownloads: true,
      permissions: CLIPBOARD,
    })
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ])
    expect(download.suggestedFilename()).equal(`echo-${run}.jsonl`)
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).event_type)).deep.equal(['call', 'call', 'result', 'result', 'end'])
    await page.getByRole('tab', { name: 'Sequence' }).click()
    await page.getByRole('button', { name: 'Copy as Mermaid' }).click()
    const text = await eventually(async () => {
      const copied = await readClipboard(page)
      expect(copied).contain('sequenceDiagram')
      return copied
    })
    expect(text).equal(`sequenceDiagram
  participant p0 as agent echo
  participant p1 as main
  participant p2 as __response__
  p0->>+p1: handleText
  p1->>+p2: respondText
  p2-->>-p1: done
  p1-->>-p0: done
`)
  })
})
