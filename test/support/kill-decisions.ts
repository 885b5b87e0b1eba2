import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { askApprovals } from './ask-approvals.ts'
import { eventually } from './eventually.ts'
import type { Json } from './responses.ts'
import { type ResponsesProcess, startResponses } from './responses-process.ts'
import { SHOP_MODULES, shopAgent } from './shop.ts'
import { makeProject, type TempProject } from './temp-project.ts'

/** Maximum time between a request and the kill that follows it. */
const MAX_DELAY_MS = 40
const CUT_OFF = 'The server restarted before the response was complete'

/**
 * Kills a server while it is asked, while a decision is made, and while a call is executed, at random moments. Every other call is
 * rejected. Returns how many calls were decided in each way: each approved one whose response is complete was executed once, one that
 * was cut off within its call at most once, and no other.
 */
export async function proveDecisionKills(rounds: number): Promise<{ approved: number; rejected: number }> {
  const project = await makeProject({
    ...SHOP_MODULES,
    ...Object.fromEntries(
      Array.from({ length: rounds }, (_, round) => [
        `agents/shop-${round}.yml`,
        shopAgent(`shop-${round}`, `{ name: pay, arguments: { amount: ${round} } }`),
      ]),
    ),
  })
  const completed: string[] = []
  const cutOff: string[] = []
  for (let round = 0; round < rounds; round++) {
    const decision = round % 2 === 0 ? 'approve' : 'reject'
    await killOnce(project.dir, round, decision)
    const end = await finish(project, round, decision)
    if (decision === 'approve') (end === 'completed' ? completed : cutOff).push(`pay ${round}`)
  }
  const lines = await paid(project)
  // Killed between the note that a call begins and its effect: nobody knows how far it came, so it is not repeated.
  const known = lines.filter((line) => !cutOff.includes(line))
  expect(known.sort()).to.deep.equal(completed.sort())
  expect(new Set(lines).size).to.equal(lines.length)
  const unexecuted = cutOff.filter((line) => !lines.includes(line)).length
  console.log(`      cut off within the call: ${cutOff.length}, of them not executed: ${unexecuted}`)
  const approved = completed.length + cutOff.length
  return { approved, rejected: rounds - approved }
}

/** Two rounds of three are killed behind the decision, the third behind the question. */
async function killOnce(dir: string, round: number, decision: string): Promise<void> {
  const server = await startResponses(dir)
  const body = { model: `shop-${round}`, input: 'please', background: true }
  const asking = server.ask('', body).catch(() => {})
  if (round % 3 > 0) {
    await asking
    const approval = await whenPending(server, round)
    void askApprovals(server, `/${approval.id}`, { decision }).catch(() => {})
  }
  await wait(Math.random() * MAX_DELAY_MS)
  await server.stop('SIGKILL')
  await asking
}

/** Asks and decides what the killed server had not, and waits until the run has gone on. */
async function finish(project: TempProject, round: number, decision: string): Promise<string> {
  const server = await startResponses(project.dir)
  if ((await approvalsOf(server, round)).length === 0) {
    await server.ask('', { model: `shop-${round}`, input: 'please' })
  }
  const end = await eventually(async () => {
    const [approval] = await approvalsOf(server, round)
    if (approval.status === 'pending') await askApprovals(server, `/${approval.id}`, { decision })
    expect(approval.continued_by).to.be.a('string')
    const { status, error } = (await server.ask(`/${approval.continued_by}`)).json
    // Killed once the call had begun: it is not repeated, and the response says why it ends.
    expect(status === 'failed' ? error.message : status).to.be.oneOf(['completed', CUT_OFF])
    return status
  }, 20_000)
  await server.stop('SIGTERM')
  return end
}

const whenPending = (server: ResponsesProcess, round: number): Promise<Json> =>
  eventually(async () => {
    const [approval] = await approvalsOf(server, round)
    expect(approval).to.not.equal(undefined)
    return approval
  })

async function approvalsOf(server: ResponsesProcess, round: number): Promise<Json[]> {
  const { data } = await askApprovals(server, '?status=all&limit=100&order=desc')
  return data.filter(({ agent }: Json) => agent === `shop-${round}`)
}

async function paid(project: TempProject): Promise<string[]> {
  const text = await readFile(project.path('paid.txt'), 'utf8').catch(() => '')
  return text.split('\n').filter((line) => line !== '')
}
