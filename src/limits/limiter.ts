import { queuedKey, runningKey } from '../durable/runs/run-keys.ts'
import { LimitReached } from '../errors.ts'
import { getOrAdd } from '../get-or-add.ts'
import type { Limiter, Ticket } from '../host/visits.ts'
import type { Log } from '../protocols/log.ts'
import type { Usage } from '../protocols/run.ts'
import { sumUsage } from '../protocols/usage.ts'
import type { LimitHolder, RunQuota } from '../run/state/run-quota.ts'
import type { RecordStore } from '../store/record-store.ts'
import { indexIdOf } from '../store/tenant-records.ts'
import { Account, type AccountSources, keyOf } from './account.ts'
import { ModelPrices } from './model-prices.ts'
import { StoreClock } from './store-clock.ts'

export interface LimiterOptions {
  /** The whole store; who has opened it closes it. */
  readonly records: RecordStore
  readonly projectDir: string
  readonly log: Log
}

/** Counts of keys and tenants in a store: they hold over all servers that share it. */
export class StoredLimiter implements Limiter {
  readonly #accounts = new Map<string, Account>()
  readonly #sources: AccountSources
  readonly #prices: ModelPrices

  constructor({ records, projectDir, log }: LimiterOptions) {
    this.#prices = new ModelPrices(projectDir, log)
    const isOpen = async (id: string, tenant: string) => {
      const index = indexIdOf({ tenant, id })
      return (await records.get([queuedKey(index), runningKey(index)])).some((mark) => mark !== undefined)
    }
    this.#sources = { records, clock: new StoreClock(records), isOpen }
  }

  ticketFor(holders: readonly LimitHolder[]): Ticket {
    return new StoredTicket(this.#of(holders))
  }

  resume(holders: readonly LimitHolder[], runId: string): RunQuota {
    const of = this.#of(holders)
    for (const account of of.accounts) account.resume(runId)
    return acceptedQuota(of, runId)
  }

  /** With the limits as the file says now, or as it said when the latest run was accepted. */
  #of(holders: readonly LimitHolder[]): Holders {
    const accounts = holders.map((holder) => {
      const account = getOrAdd(this.#accounts, keyOf(holder), () => new Account(holder, this.#sources))
      account.limits = holder.limits
      return account
    })
    return { holders, accounts, prices: this.#prices }
  }
}

/** Everyone whose limits hold for a run. */
interface Holders {
  readonly holders: readonly LimitHolder[]
  readonly accounts: readonly Account[]
  readonly prices: ModelPrices
}

class StoredTicket implements Ticket {
  readonly #of: Holders
  #isClaimed: boolean
  #admitting: Promise<void> | undefined
  /** Minutes that it counts in, of each account; undefined until it is prepared, and once it was used. */
  #minutes: readonly number[] | undefined
  #refusal: unknown

  constructor(of: Holders, isClaimed = false) {
    this.#of = of
    this.#isClaimed = isClaimed
  }

  claim(): Ticket {
    if (this.#isClaimed) return new StoredTicket(this.#of, true)
    this.#isClaimed = true
    return this
  }

  prepare(): Promise<void> {
    this.#admitting ??= this.#admit()
    return this.#admitting
  }

  async #admit(): Promise<void> {
    const { accounts } = this.#of
    const minutes: number[] = []
    try {
      for (const account of accounts) minutes.push(await account.admit())
      this.#minutes = minutes
    } catch (error) {
      giveBack(accounts, minutes)
      this.#refusal = error
      throw error
    }
  }

  take(): RunQuota {
    this.#isClaimed = true
    const minutes = this.#minutes
    if (!minutes) throw this.#refusal ?? new LimitReached(ONE_RUN, 'concurrent_runs', 1)
    this.#minutes = undefined
    return new Quota(this.#of, (account, tokens, index) =>
      tokens === undefined ? account.giveBack(minutes[index] ?? 0) : account.end(tokens),
    )
  }

  async accept(runId: string): Promise<RunQuota> {
    const { accounts } = this.#of
    const minutes = this.#minutes
    this.#minutes = undefined
    const quota = acceptedQuota(this.#of, runId, minutes)
    try {
      await Promise.all(accounts.map((account) => account.accept(runId)))
    } catch (error) {
      quota.giveBack()
      throw error
    }
    return quota
  }

  giveBack(): void {
    if (!this.#minutes) return
    giveBack(this.#of.accounts, this.#minutes)
    this.#minutes = undefined
    // Its adapter may go on after the answer.
    this.#admitting = undefined
  }
}

const ONE_RUN =
  'A request of a key with limits starts one run with host.start: use host.run, or runs of the store, for more.'

function giveBack(accounts: readonly Account[], minutes: readonly number[]): void {
  for (const [index, minute] of minutes.entries()) accounts[index]?.giveBack(minute)
}

/** @param minutes that it counts in, of each account; left out once it is stored */
function acceptedQuota(of: Holders, runId: string, minutes?: readonly number[]): Quota {
  return new Quota(of, (account, tokens, index) =>
    account.endAccepted(runId, tokens ?? 0, tokens === undefined ? minutes?.[index] : undefined),
  )
}

/** Gives a place back. @param tokens of its run that are not counted yet; left out for a run that has not begun */
type GiveBack = (account: Account, tokens: number | undefined, index: number) => void

class Quota implements RunQuota {
  readonly holders: readonly LimitHolder[]
  readonly #of: Holders
  readonly #giveBack: GiveBack
  #isOver = false
  /** Tokens that calls of models have reported. */
  #counted = 0

  constructor(of: Holders, giveBack: GiveBack) {
    this.holders = of.holders
    this.#of = of
    this.#giveBack = giveBack
  }

  async admitCall(): Promise<void> {
    for (const account of this.#of.accounts) await account.admitCall()
  }

  async spend(reported: Partial<Usage>, model: string | undefined): Promise<void> {
    const { accounts, prices } = this.#of
    const usage = sumUsage([reported])
    const tokens = tokensOf(usage)
    this.#counted += tokens
    const isPriced = accounts.some(({ limits }) => limits.cost_per_day !== undefined)
    const cost = isPriced ? await prices.costOf(usage, model) : 0
    await Promise.all(accounts.map((account) => account.spend(tokens, cost ?? 0)))
    if (cost === null) throw prices.unknown(model)
  }

  end(usage: Readonly<Usage>): void {
    this.#leave(Math.max(0, tokensOf(usage) - this.#counted))
  }

  giveBack(): void {
    this.#leave()
  }

  #leave(tokens?: number): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const [index, account] of this.#of.accounts.entries()) this.#giveBack(account, tokens, index)
  }
}

function tokensOf({ inputTokens, outputTokens }: Readonly<Usage>): number {
  return inputTokens + outputTokens
}
