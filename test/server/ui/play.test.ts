import { expect } from 'chai'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'

describe('the playground of the debug UI', function () {
  this.timeout(60_000)
  const ui = DebugUi.forSuite()

  it('keeps a run going when its reader leaves, and shows the thread again by its address', async () => {
    const page = await ui.open('#/play/finder')
    await page.getByLabel('Message to finder').fill('slow keys')
    await page.getByRole('button', { name: 'Send' }).click()
    await see(page, /I looked for slow keys more/)
    await page.getByRole('link', { name: 'See the run' }).click()
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

  it('shows tools with arguments, result and time, and goes on with the conversation', async () => {
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
})
