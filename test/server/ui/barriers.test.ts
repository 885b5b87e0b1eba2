import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { findBarriers, findLowControls, isTooWide } from '../../support/browser.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { ask } from '../../support/graphql.ts'
import { askKeeper } from '../../support/keeper.ts'
import { SHOP_MODULES, shopAgent } from '../../support/shop.ts'
import { VARIED_PROJECT } from '../../support/varied.ts'

const WIDE = { width: 1440, height: 900 }
const PHONE = { width: 390, height: 844 }
/** Results of evals, as the command writes them. */
const RESULTS = fileURLToPath(new URL('../../../scripts/showcase/evals/results/', import.meta.url))

type Act = (page: Page) => Promise<unknown>

/** Screen with a text that it shows, or the steps that lead to its state. */
type Screens = Readonly<Record<string, string | RegExp | Act>>

describe('the debug UI, in light and dark, on a desk and on a phone', function () {
  // Hundreds of looks by axe take a core for a minute, and each step has a timeout of its own.
  this.timeout(600_000)
  const ui = DebugUi.forSuite({ record: 1 })

  it('has no barrier on any screen, nothing wider than the window, and on a phone no control too low for a finger', async () => {
    const { run, failed, waiting, seen } = await fill()
    await visit({
      '#/': 'agents/broken.yml:3',
      '#/agents/finder': 'planner',
      '#/agents/finder?module=near': 'look_near',
      '#/agents/finder?view=tools': 'look_near',
      '#/agents/finder?view=definition': 'api_key: [redacted]',
      '#/agents/echo?view=history': (page) => page.getByText('2 changed lines').click(),
      '#/agents/keeper?view=memory': 'The lamp is red',
      '#/agents/unknown': "Agent 'unknown' not found",
      '#/play/finder?beside=echo': 'Ask finder and echo',
      '#/play/desk?entry=billing': 'Two departments',
      '#/runs': 'my bill',
      '#/runs?status=interrupted': 'No matching runs',
      [`#/runs/${run}`]: 'handleText',
      [`#/runs/${seen}`]: 'The lamp is red',
      [`#/runs/${failed}`]: 'The planner gave up',
      [`#/runs/${waiting}`]: 'May shop call pay?',
      [`#/runs/${run}?view=sequence`]: 'executeTool look_far(keys)',
      [`#/runs/${run}?view=graph`]: 'planner',
      [`#/runs/${run}?view=conversation`]: 'I looked for keys',
      [`#/runs/${run}?view=events`]: 'planner.handleText',
      '#/runs/unknown': 'There is no such run',
      '#/approvals': 'Asked by ann',
      '#/metrics': 'Time to first token',
      '#/metrics?range=7d': 'By day',
      '#/evals': 'where-is-a1',
      [`#/compare?left=${run}&right=${failed}`]: 'The planner gave up',
      '#/nowhere': 'There is no such page',
    })
  })

  it('has none in open dialogs, forms, panels and conversations', async () => {
    const { run, failed, seen } = await fill()
    const panel = (page: Page) => page.getByRole('complementary', { name: 'Selected call' })
    await visit({
      '#/': async (page) => {
        await page.locator('.card').first().waitFor()
        await page.keyboard.press('?')
        await see(page, 'Previous and next run')
      },
      '#/metrics': async (page) => {
        await see(page, 'By agent')
        await page.keyboard.press('Control+k')
        await see(page, 'Failed runs')
      },
      '#/agents/finder?module=near': async (page) => {
        await page.getByText('look_near').first().click()
        await page.getByLabel('what').fill('glasses')
      },
      '#/approvals': async (page) => {
        await page.getByRole('button', { name: /^Edit/ }).first().click()
        await page.getByLabel('amount').waitFor()
      },
      [`#/runs/${run}`]: async (page) => {
        await page.getByRole('treeitem', { name: /look_far/ }).click()
        await panel(page).getByText('It is closed there').first().waitFor()
      },
      [`#/runs/${seen}`]: async (page) => {
        await page
          .getByRole('treeitem', { name: /gpt-4\.1/ })
          .first()
          .click()
        await panel(page).getByRole('tab', { name: 'Context' }).click()
        await panel(page).getByText('95 % full').waitFor()
      },
      [`#/runs/${failed}`]: async (page) => {
        await page.getByRole('button', { name: 'Save as test' }).click()
        await see(page, 'agent-host runs save')
      },
      [`#/runs/${seen}?view=trace`]: async (page) => {
        await page
          .getByRole('treeitem', { name: /gpt-4\.1/ })
          .first()
          .click()
        await panel(page).getByRole('button', { name: 'Rerun from here' }).click()
        await page.getByRole('form', { name: 'Rerun from here' }).waitFor()
      },
      '#/evals?case=jacket': (page) => page.getByRole('complementary', { name: 'Selected case' }).waitFor(),
      '#/play/finder?beside=echo': async (page) => {
        await page.getByRole('textbox', { name: /^Message/ }).fill('keys')
        await page.keyboard.press('Enter')
        await page.getByText('look_far(keys)').click()
        await page.getByRole('button', { name: 'Retry' }).nth(1).waitFor()
      },
      '#/play/shop': async (page) => {
        await page.getByRole('textbox', { name: /^Message/ }).fill('please')
        await page.keyboard.press('Enter')
        await page.getByRole('button', { name: 'Approve' }).first().waitFor()
      },
      '#/play/talker': async (page) => {
        const message = page.getByRole('textbox', { name: 'Message to talker' })
        await message.fill('hi there')
        await message.press('Enter')
        await page.getByText('hi there').nth(1).waitFor()
        await page.getByRole('button', { name: 'Change', exact: true }).click()
        await page.getByLabel('system prompt').fill('Be short.')
        await see(page, 'edited')
      },
    })
  })

  /** Opens each screen, and looks at it in both sizes and themes. */
  async function visit(screens: Screens): Promise<void> {
    const page = await ui.open('', { colorScheme: 'light', viewport: WIDE })
    for (const [hash, shown] of Object.entries(screens)) {
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize(WIDE)
      await page.goto('about:blank')
      await page.goto(`${ui.url}/${hash}`)
      await page.locator('main h1').waitFor()
      if (typeof shown === 'function') await shown(page)
      else await see(page, shown)
      for (const size of [WIDE, PHONE]) {
        await page.setViewportSize(size)
        expect([hash, size.width, await isTooWide(page)]).deep.equal([hash, size.width, false])
        if (size === PHONE) expect([hash, await findLowControls(page)]).deep.equal([hash, []])
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          const where = `${hash} ${size.width} ${colorScheme}`
          expect([where, await findBarriers(page)]).deep.equal([where, []])
        }
      }
    }
  }

  /** Runs, decisions, versions and a broken file to be looked at. @returns ids of runs */
  async function fill() {
    const { project, server } = ui
    await ui.add({ ...SHOP_MODULES, ...VARIED_PROJECT, 'agents/shop.yml': SHOP_AGENT })
    await askKeeper(ui)
    await ui.complete('echo', 'hello')
    await ui.add({
      'agents/echo.yml': `id: echo\ndescription: Says it twice, ${'and once more, '.repeat(20)}\nmodules: [{ id: main, module: echo }]`,
    })
    await project.write('agents/broken.yml', 'id: broken\nmodules:\n  - { id: a, module: nope }')
    await server.agents.scan()
    const payload = { model: 'shop', input: 'please', user: 'ann' }
    const { id } = (await server.app.inject({ method: 'POST', url: '/compat/responses', payload })).json()
    await ui.complete('finder', 'fail')
    await ui.complete('desk/billing', 'my bill')
    const run = await ui.complete('finder', 'keys')
    for (const name of readdirSync(RESULTS)) {
      await project.write(`evals/results/${name}`, readFileSync(RESULTS + name, 'utf8'))
    }
    return { run, waiting: id.replace('resp_', ''), failed: await runOf('fail'), seen: await runOf('The lamp') }
  }

  async function runOf(text: string): Promise<string> {
    const query = 'query($text: String) { runs(filter: { text: $text }, first: 1) { runs { run_id } } }'
    const { runs } = await ask<{ runs: { runs: { run_id: string }[] } }>(ui.server, query, { text })
    return runs.runs[0]?.run_id ?? ''
  }
})

const SHOP_AGENT = shopAgent('shop', '{ name: pay, arguments: { amount: 40, to: Ann } }')
