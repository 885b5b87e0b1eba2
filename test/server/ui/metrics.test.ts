import { expect } from 'chai'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { askKeeper } from '../../support/keeper.ts'

describe('the metrics of the debug UI', () => {
  const ui = DebugUi.forSuite()

  it('link each point to its runs', async () => {
    await ui.complete('echo', 'counted')
    const page = await ui.open('#/metrics?range=15m&agent=echo')
    await see(page, 'Runs and failed runs')
    const box = await page.locator('.plot').first().locator('.u-over').boundingBox()
    if (!box) throw new Error('The chart has no size.')
    const legend = page.locator('.chart').first().locator('.legend')
    // A bucket takes 15 s, and twelve are shown: the run is in the last one, or in the one before.
    for (const fromEnd of [3, 3 + box.width / 11]) {
      await page.mouse.move(box.x + box.width - fromEnd, box.y + box.height / 2)
      if ((await legend.innerText()).includes('Runs 1')) break
    }
    await page.mouse.down()
    await page.mouse.up()
    await see(page, 'counted')
    expect(page.url()).match(/#\/runs\?agent=echo&since=\d+&until=\d+/)
  })

  it('count tokens and cost by model and by day', async () => {
    await askKeeper(ui)
    const page = await ui.open('#/metrics?range=7d')
    const models = page.getByRole('group', { name: 'By model' })
    await models.getByRole('row', { name: /gpt-4\.1 1,000,000 0 0 0 \$2\.00/ }).waitFor()
    const days = page.getByRole('group', { name: 'By day' })
    await days.getByRole('row').nth(1).getByText('$2.00').waitFor()
    await days.getByRole('link').click()
    await see(page, 'The lamp is red')
  })

  it('count calls and errors of each tool, and link to their runs', async () => {
    await ui.complete('finder', 'keys')
    await ui.complete('echo', 'no tool')
    const page = await ui.open('#/metrics')
    const tools = page.getByRole('group', { name: 'By tool' })
    await tools.getByRole('row', { name: /look_near · finder 1 0 [\d.]+ ms/ }).waitFor()
    await tools.getByRole('row', { name: /look_far · finder 1 1 [\d.]+ ms/ }).waitFor()
    await tools.getByRole('link', { name: /look_far/ }).click()
    const rows = page.getByRole('list', { name: 'Runs' }).getByRole('listitem')
    await rows.getByText('keys', { exact: true }).waitFor()
    expect(await rows.count()).equal(1)
    expect(await page.locator('.chips').innerText()).contain('look_far')
  })

  it('compare the versions of an agent, and link to the runs of each', async () => {
    await ui.complete('echo', 'to the old one')
    await ui.add({ 'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo, config: { prefix: new } }]' })
    for (let run = 0; run < 2; run++) await ui.complete('echo', 'to the new one')
    const page = await ui.open('#/metrics')
    const rows = page.getByRole('group', { name: 'By version' }).getByRole('row')
    await rows.nth(1).getByRole('cell', { name: '2', exact: true }).waitFor()
    await rows.nth(2).getByRole('cell', { name: '1', exact: true }).waitFor()
    // Of so few runs a change in percent would say nothing.
    expect(await rows.nth(1).innerText()).not.match(/%[)]/)
    for (let run = 0; run < 18; run++) await ui.complete('echo', 'to the new one')
    await page.reload()
    await rows.nth(1).getByRole('cell', { name: '20', exact: true }).waitFor()
    expect(await rows.nth(1).innerText()).not.match(/%[)]/)
    await rows.nth(2).getByRole('link').click()
    const runs = page.getByRole('list', { name: 'Runs' }).getByRole('listitem')
    await runs.getByText('to the old one').first().waitFor()
    expect(await runs.count()).equal(1)
  })
})
