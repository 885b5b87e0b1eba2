import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { decodeText } from '../decode-text.ts'
import { messageOf } from '../errors.ts'
import { fieldsOf, isObject } from '../json.ts'
import type { Log } from '../protocols/log.ts'
import { readRegularFile } from '../read-regular-file.ts'
import type { ModelUsage } from '../trace/calls/describe-event.ts'

/** Price of a model, in US dollars per million tokens, and the size of its context. */
export interface ModelPrice {
  readonly input: number
  readonly output: number
  /** Of input tokens that the vendor had cached; unknown when left out. */
  readonly cached_input?: number
  /** Tokens that the model takes at once; unknown when left out. */
  readonly context?: number
}

type PriceTable = Readonly<Record<string, ModelPrice>>

/** File of a project whose prices go before those of the package. */
const PRICES_FILE = 'prices.yml'
const TOKENS = 1_000_000
const MAX_BYTES = 1024 * 1024
const packaged = new URL('./prices.json', import.meta.url)

/** Prices of models: a dated table of the package, and over it the project's own, as of the last {@link Prices.refresh}. */
export class Prices {
  /** Day of the package's table, ISO 8601. */
  readonly date: string
  readonly #path: string
  readonly #packaged: PriceTable
  readonly #log: Pick<Log, 'warn'>
  #own: PriceTable = {}
  /** Undefined for no file. */
  #readMs: number | undefined
  #refreshing: Promise<void> | undefined

  constructor(projectDir: string, log: Pick<Log, 'warn'>) {
    const { date, models } = JSON.parse(readFileSync(packaged, 'utf8')) as { date: string; models: PriceTable }
    this.date = date
    this.#packaged = models
    this.#path = join(projectDir, PRICES_FILE)
    this.#log = log
  }

  /** Reads the project's prices where their file has changed. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#read().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  /** Returns US dollars; null when a price is unknown, or nothing was counted. Never an estimate. */
  costOf(usages: readonly ModelUsage[]): number | null {
    if (usages.length === 0) return null
    const costs = usages.map((usage) => this.#price(usage))
    return costs.includes(null) ? null : costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0)
  }

  /** Returns the tokens that a model takes at once; null when that is unknown. */
  contextOf(model: string | null): number | null {
    return this.#find(model)?.context ?? null
  }

  #find(model: string | null): ModelPrice | undefined {
    const name = model ?? ''
    const packaged = ownValue(this.#packaged, name)
    const own = ownValue(this.#own, name)
    return own ? { context: packaged?.context, ...own } : packaged
  }

  #price({ model, input_tokens, output_tokens, cached_input_tokens }: ModelUsage): number | null {
    const price = this.#find(model)
    if (!price || (cached_input_tokens > 0 && price.cached_input === undefined)) return null
    // Some servers report more cached tokens than input.
    const fresh = Math.max(0, input_tokens - cached_input_tokens)
    const cached = cached_input_tokens * (price.cached_input ?? 0)
    return (fresh * price.input + cached + output_tokens * price.output) / TOKENS
  }

  async #read(): Promise<void> {
    const changedMs = (await stat(this.#path).catch(() => undefined))?.mtimeMs
    if (changedMs === this.#readMs) return
    this.#readMs = changedMs
    try {
      this.#own =
        changedMs === undefined
          ? {}
          : readPrices(decodeText(await readBytes(this.#path), PRICES_FILE, (message) => this.#log.warn(message)))
    } catch (error) {
      this.#log.warn(`${PRICES_FILE}: ${messageOf(error)} The prices of before stay.`)
    }
  }
}

function readBytes(path: string): Promise<Buffer> {
  return readRegularFile(path, { maxBytes: MAX_BYTES }).catch((cause) => {
    throw new Error(`the file cannot be read: ${messageOf(cause)}.`, { cause })
  })
}

/** @throws Error naming the model, and the shape of a price */
function readPrices(text: string): PriceTable {
  const table: unknown = parse(text, { prettyErrors: false }) ?? {}
  if (!isObject(table)) throw new Error(SHAPE)
  const prices = Object.entries(table).map(([model, price]): [string, ModelPrice] => {
    if (!isPrice(price)) throw new Error(`'${model}': ${SHAPE}`)
    return [model, price]
  })
  return Object.fromEntries(prices)
}

const SHAPE =
  'a price is { input: 2, output: 8, cached_input: 0.5 }, in US dollars per million tokens; context: 128000 says how many tokens the model takes.'

function isPrice(value: unknown): value is ModelPrice {
  const { input, output, cached_input: cached = 0, context = 0, ...rest } = fieldsOf(value)
  const isAmount = (amount: unknown) => typeof amount === 'number' && amount >= 0 && Number.isFinite(amount)
  return [input, output, cached, context].every(isAmount) && Object.keys(rest).length === 0
}

function ownValue(table: PriceTable, name: string): ModelPrice | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
