import { expect } from 'chai'
import { findBarriers, isTooWide } from '../../support/browser.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'
import { closeServers, makeServer } from '../../support/server.ts'
import { keysFile } from '../../support/tenant-visitor.ts'

const SECRET = `whsec_${Buffer.from('a secret of 24 characters').toString('base64')}`
const HOOK = 'http://127.0.0.1:9/hook'
const WEBHOOKS = `webhooks:
  - { url: "${HOOK}?token=canary", secret: "${SECRET}", events: [response.completed], tenants: [acme, globex] }`
const PLAIN_WEBHOOKS = WEBHOOKS.replace(', tenants: [acme, globex]', '')
const STUCK = `import { setTimeout } from 'node:timers/promises'
import { defineModule, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Stuck', provides: [TextMessageHandler],
  create: () => ({ async handleText(text, run) { await setTimeout(600_000, undefined, { signal: run.signal }) } }) })`
const FILES = {
  'agents/work.yml': `id: work
schedules:
  - { id: often, every: 1s, input: report, tenant: acme }
  - { id: leap, cron: '0 8 29 2 *', timezone: Europe/Berlin, input: report }
modules: [{ id: main, module: stuck }]`,
  'agents/other.yml': `id: other
schedules: [{ id: quick, every: 1s, input: report, tenant: globex }]
modules: [{ id: main, module: echo }]`,
  'modules/stuck.ts': STUCK,
}
const SCHEDULES =
  '{ agent_config(agent_id: "work") { schedules { id tenant when next last { due response_id status } } } }'
const DELIVERIES =
  '{ deliveries { tenant event subject run_id url state tries next_try_at error } server { has_webhooks } }'

interface Schedules {
  readonly agent_config: {
    readonly schedules: readonly {
      readonly id: string
      readonly when: string
      readonly next: number
      readonly last: readonly { readonly due: number; readonly response_id: string | null; readonly status: string }[]
    }[]
  }
}

interface Deliveries {
  readonly deliveries: readonly { readonly subject: string; readonly run_id: string; readonly tenant: string }[]
  readonly server: { readonly has_webhooks: boolean }
}

const ALL = ['run', 'approve', 'debug'] as const
const KEYS = keysFile([
  { name: 'acme', tenant: 'acme', scopes: ALL },
  { name: 'globex', tenant: 'globex', scopes: ALL },
  { name: 'plain', scopes: ALL },
  { name: 'others', tenant: 'acme', scopes: ALL, agents: ['other'] },
])
const withKey = (name: string) => ({ authorization: `Bearer key-of-${name}` })
const FOREIGN = { origin: 'https://evil.test' }

describe('schedules and deliveries in GraphQL', () => {
  afterEach(closeServers)

  const makeKeyed = (options: object = {}) => {
    const adapters = ['ResponsesCompatApiAdapter']
    return makeServer(
      { adapters, debug: true, keys: 'keys.yml', uiToken: 'token-of-operator', ...options },
      { ...FILES, 'webhooks.yml': WEBHOOKS, 'keys.yml': KEYS },
    )
  }

  it('tell next times, the runs of the last due times, and what is skipped, to the tenant alone', async () => {
    const server = await makeKeyed({ schedules: true })
    await server.app.ready()
    const schedulesFor = async (headers: Record<string, string>) =>
      (await ask<Schedules>(server, SCHEDULES, {}, headers)).agent_config.schedules
    const often = await eventually(async () => {
      const [found, ...others] = await schedulesFor(withKey('acme'))
      expect(others).to.deep.equal([])
      expect(found?.last.length).to.be.greaterThan(1)
      return found
    })
    expect([often?.id, often?.when]).to.deep.equal(['often', 'every 1s'])
    expect(often?.next).to.be.closeTo(Date.now() / 1000, 30)
    const begun = often?.last.at(-1)
    expect(begun?.response_id).to.match(/^resp_/)
    expect(begun?.status).to.be.oneOf(['queued', 'in_progress'])
    const { due: _due, ...skipped } = often?.last[0] ?? {}
    expect(skipped).to.deep.equal({ response_id: null, status: 'The run before goes on.' })
    const namesFor = async (headers: Record<string, string>) => (await schedulesFor(headers)).map(({ id }) => id)
    expect(await namesFor(withKey('plain'))).to.deep.equal(['leap'])
    expect(await namesFor(withKey('globex'))).to.deep.equal([])
    expect(await namesFor({ authorization: 'Bearer token-of-operator' })).to.deep.equal(['often', 'leap'])
    const hidden = await schedulesFor(withKey('others')).catch(({ message }) => message)
    expect(hidden).to.equal("Agent 'work' not found")
  })

  it('tell of events that have not arrived to the tenant and the agents of a key alone, without secrets', async () => {
    const server = await makeKeyed()
    const deliveriesFor = (headers: Record<string, string>) => ask<Deliveries>(server, DELIVERIES, {}, headers)
    expect((await deliveriesFor(withKey('acme'))).deliveries).to.deep.equal([])
    const answer = async (model: string, key: string): Promise<string> => {
      const payload = { model, input: 'hi' }
      const headers = withKey(key)
      const { body } = await server.app.inject({ method: 'POST', url: '/compat/responses', payload, headers })
      return JSON.parse(body).id
    }
    const echo = await answer('echo', 'acme')
    const other = await answer('other', 'acme')
    const globex = await answer('echo', 'globex')
    await answer('echo', 'plain')
    const told = await eventually(async () => {
      const { deliveries } = await deliveriesFor(withKey('acme'))
      expect(deliveries).to.have.lengthOf(2)
      for (const each of deliveries) expect(each).to.include({ state: 'retrying', tries: 1 })
      return deliveries
    })
    expect(told[0]).to.deep.include({ tenant: 'acme', event: 'response.completed', url: HOOK, subject: other })
    expect(told[0]?.run_id).to.equal(other.slice(5))
    expect(told[0])
      .to.have.property('next_try_at')
      .that.is.closeTo(Date.now() / 1000, 30)
    expect(told[0]).to.have.property('error').that.contains('127.0.0.1 is not public')
    expect(JSON.stringify(told)).to.not.contain('canary').and.to.not.contain(SECRET.slice(6))
    const subjectsFor = async (headers: Record<string, string>) =>
      (await deliveriesFor(headers)).deliveries.map(({ subject }) => subject)
    expect(told.map(({ subject }) => subject)).to.deep.equal([other, echo])
    expect(await subjectsFor(withKey('others'))).to.deep.equal([other])
    expect(await subjectsFor(withKey('globex'))).to.deep.equal([globex])
    expect(await subjectsFor(withKey('plain'))).to.deep.equal([])
    expect(await subjectsFor({ authorization: 'Bearer token-of-operator' })).to.deep.equal([globex, other, echo])
    const one = '{ deliveries(first: 1) { subject } }'
    expect(await ask(server, one, {}, withKey('acme'))).to.deep.equal({ deliveries: [{ subject: other }] })
    const none = await ask(server, '{ deliveries(first: 0) { id } }', {}, withKey('acme')).catch(
      ({ message }) => message,
    )
    expect(none).to.contain('first')
  })

  it('tell pages of other sites nothing', async () => {
    const adapters = ['ResponsesCompatApiAdapter']
    const server = await makeServer({ adapters, debug: true }, { ...FILES, 'webhooks.yml': PLAIN_WEBHOOKS })
    const payload = { model: 'echo', input: 'hi' }
    await server.app.inject({ method: 'POST', url: '/compat/responses', payload })
    const { deliveries } = await ask<Deliveries>(server, DELIVERIES)
    expect(deliveries).to.have.lengthOf(1)
    const foreign = await ask<Deliveries>(server, DELIVERIES, {}, FOREIGN)
    expect(foreign).to.deep.equal({ deliveries: [], server: { has_webhooks: false } })
    expect((await ask<Schedules>(server, SCHEDULES)).agent_config.schedules).to.have.lengthOf(2)
    expect((await ask<Schedules>(server, SCHEDULES, {}, FOREIGN)).agent_config.schedules).to.deep.equal([])
  })

  it('makes no store for a look', async () => {
    const { app, project } = await makeServer({ debug: true }, FILES)
    const schedules = (await ask<Schedules>({ app }, SCHEDULES)).agent_config.schedules
    expect(schedules.map(({ last }) => last)).to.deep.equal([[], []])
    expect((await ask<Deliveries>({ app }, DELIVERIES)).server.has_webhooks).to.equal(false)
    expect(project.exists('responses')).to.equal(false)
  })
})

describe('schedules and webhooks in the debug UI', () => {
  const ui = DebugUi.forSuite({ schedules: true }, { ...FILES, 'webhooks.yml': PLAIN_WEBHOOKS })

  it('are listed: due times with their runs, and deliveries with theirs', async () => {
    const page = await ui.open('#/agents/work')
    await page.getByRole('tab', { name: 'Schedules' }).click()
    const often = page.getByRole('region', { name: 'often' })
    await often.getByText('every 1s').waitFor()
    await often.getByText('tenant: acme').waitFor()
    await often.getByText('The run before goes on.').first().waitFor()
    await page.getByRole('region', { name: 'leap' }).getByText('Nothing was due yet.').waitFor()
    expect(await findBarriers(page)).to.deep.equal([])
    await page.goto(`${ui.url}/#/agents/other?view=schedules`)
    const quick = page.getByRole('region', { name: 'quick' })
    await quick.getByText('completed').first().waitFor()
    const run = await quick.getByRole('link', { name: 'View the run' }).first().getAttribute('href')
    expect(run).to.match(/^#\/runs\/[0-9a-f-]{36}$/)

    await page.getByRole('link', { name: 'Webhooks' }).click()
    await see(page, 'Every event has arrived')
    const payload = { model: 'echo', input: 'hi' }
    const { body } = await ui.server.app.inject({ method: 'POST', url: '/compat/responses', payload })
    const { id } = JSON.parse(body)
    const row = page.getByRole('row', { name: 'response.completed' })
    await row.getByText('retrying').waitFor()
    await row.getByText(HOOK, { exact: true }).waitFor()
    expect(await page.locator('body').innerText()).to.not.contain('canary')
    expect([await findBarriers(page), await isTooWide(page)]).to.deep.equal([[], false])
    await page.setViewportSize({ width: 390, height: 844 })
    expect([await findBarriers(page), await isTooWide(page)]).to.deep.equal([[], false])
    await row.getByRole('link').click()
    await page.waitForURL(`**/#/runs/${id.slice(5)}`)
  })

  it('have no place where an agent has no schedules', async () => {
    const page = await ui.open('#/agents/echo')
    await page.getByRole('tab', { name: 'History' }).waitFor()
    expect(await page.getByRole('tab', { name: 'Schedules' }).count()).to.equal(0)
  })
})
