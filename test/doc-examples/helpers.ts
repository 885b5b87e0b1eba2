// Examples of doc comments: `node scripts/fill-examples.js` puts each region into the comment of the export that it is named for.
import { get } from 'node:https'
import {
  AgentError,
  AgentHost,
  AnswerParts,
  checkArguments,
  checkHeaders,
  compileSchema,
  decodeText,
  ERROR_CODES,
  fetchWithinOrigin,
  fieldsOf,
  fitsGlob,
  HostError,
  hasPatterns,
  hostOf,
  isDeeper,
  isForbiddenHeader,
  isObject,
  isTimeLimit,
  type LLM,
  limitBody,
  type Message,
  ModelLimited,
  ModelRefused,
  makeArgumentCheck,
  makeGuardedFetch,
  makeRedact,
  memoryStorage,
  messageOf,
  pairCalls,
  parseJson,
  proxyAgentFor,
  type Run,
  raceAbort,
  readFrontMatter,
  readRegularFile,
  readYamlText,
  runLimited,
  type Scorer,
  scorers,
  sumUsage,
  toSortedJson,
  VERSION,
  withDeadline,
} from 'agent-host'

// #region compileSchema
const address = compileSchema({ type: 'object', properties: { zip: { type: 'number', default: 0 } } })

export function checkAddress(value: unknown): string[] {
  return address.matches(address.fill(value)) ? [] : address.problems(value, 'the address')
}
// #endregion

// #region checkArguments
const transfer = compileSchema({ type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] })

export function eurosOf(args: Readonly<Record<string, unknown>>): number {
  return Number(checkArguments('transfer', transfer, args).euros)
}
// #endregion

// #region makeArgumentCheck
const checkOrder = makeArgumentCheck('find_order', { type: 'object', properties: { id: { type: 'string' } } })

export function orderOf(args: Readonly<Record<string, unknown>>): string {
  return String(checkOrder(args).id)
}
// #endregion

// #region decodeText
export async function readNotes(path: string, warn: (message: string) => void): Promise<string> {
  return decodeText(await readRegularFile(path), path, warn)
}
// #endregion

// #region fieldsOf
export function errorIn(reply: unknown): string | undefined {
  const { message } = fieldsOf(fieldsOf(reply).error)
  return typeof message === 'string' ? message : undefined
}
// #endregion

// #region isObject
export function toRows(value: unknown): object[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}
// #endregion

// #region isDeeper
export function refuseDeep(reply: unknown): void {
  if (isDeeper(reply, 100)) throw new Error('The reply is nested deeper than 100 levels.')
}
// #endregion

// #region parseJson
export function readPrice(text: string): number | undefined {
  const { price } = fieldsOf(parseJson(text))
  return typeof price === 'number' ? price : undefined
}
// #endregion

// #region toSortedJson
export function isSameCall(one: unknown, other: unknown): boolean {
  return toSortedJson(one) === toSortedJson(other)
}
// #endregion

// #region hasPatterns
export function matchesInTime(schema: object, value: unknown): boolean {
  const { matches } = compileSchema(schema)
  return hasPatterns(schema) ? runLimited(() => matches(value), 200) : matches(value)
}
// #endregion

// #region runLimited
export function findInTime(pattern: RegExp, text: string): string | undefined {
  return runLimited(() => pattern.exec(text)?.[0], 200)
}
// #endregion

// #region isTimeLimit
export function findOrGiveUp(pattern: RegExp, text: string): string | undefined {
  try {
    return runLimited(() => pattern.exec(text)?.[0], 200)
  } catch (error) {
    if (isTimeLimit(error)) return undefined
    throw error
  }
}
// #endregion

// #region makeRedact
const redact = makeRedact({ SHOP_KEY: 'a-secret-key' })
export const shown = redact('The key is a-secret-key.') // The key is [redacted].
// #endregion

// #region messageOf
export async function tryTo(work: () => Promise<string>): Promise<string> {
  return work().catch((error: unknown) => `failed: ${messageOf(error)}`)
}
// #endregion

// #region pairCalls
export function openCalls(messages: readonly Message[]): string[] {
  return pairCalls(messages).flatMap(({ call, answeredAt }) => (answeredAt === undefined ? [call.name] : []))
}
// #endregion

// #region checkHeaders
export function checkConfigured(headers: Record<string, string>): void {
  checkHeaders(Object.keys(headers), 'config.headers')
}
// #endregion

// #region fitsGlob
export function ruleFor(tool: string, rules: Record<string, string>): string | undefined {
  return Object.entries(rules).find(([glob]) => fitsGlob(tool, glob))?.[1]
}
// #endregion

// #region isForbiddenHeader
export function settableOf(names: readonly string[]): string[] {
  return names.filter((name) => !isForbiddenHeader(name))
}
// #endregion

// #region hostOf
export function isLocal(address: string): boolean {
  return ['localhost', '127.0.0.1', '::1'].includes(hostOf(new URL(address)))
}
// #endregion

// #region fetchWithinOrigin
export async function countItems(url: string, key: string): Promise<number> {
  const reply = await fetchWithinOrigin(`${url}/count`, { headers: { 'x-api-key': key } })
  return Number(await reply.text())
}
// #endregion

// #region limitBody
export async function readNote(url: string): Promise<string> {
  return limitBody(await fetchWithinOrigin(url), 1024 * 1024).text()
}
// #endregion

// #region makeGuardedFetch
export async function readPage(address: string): Promise<string> {
  const guarded = makeGuardedFetch({ namedHosts: new Set(['wiki.internal']), maxBytes: 1024 * 1024 })
  try {
    return await (await guarded(address)).text()
  } finally {
    await guarded[Symbol.asyncDispose]()
  }
}
// #endregion

// #region proxyAgentFor
export function request(url: URL): void {
  const agent = proxyAgentFor(url)
  get(url, agent ? { agent } : {}, (answer) => answer.resume())
}
// #endregion

// #region raceAbort
export function lookUp(client: { find(id: string): Promise<string> }, id: string, run: Run): Promise<string> {
  // The client knows no signal.
  return raceAbort(client.find(id), run.signal)
}
// #endregion

// #region withDeadline
export function findWithin(client: { find(id: string): Promise<string> }, id: string): Promise<string> {
  return withDeadline(client.find(id), 5000, () => new Error(`Order '${id}' was not found within 5 s.`))
}
// #endregion

// #region readFrontMatter
export function titleOf(text: string, file: string): string {
  const { data, lineOf } = readFrontMatter(text, file)
  if (typeof data.title !== 'string') throw new Error(`${file}:${lineOf('title')}: title must be a text.`)
  return data.title
}
// #endregion

// #region readRegularFile
export function readWithin(folder: string, path: string): Promise<Buffer> {
  return readRegularFile(path, { maxBytes: 1024 * 1024, within: folder })
}
// #endregion

// #region readYamlText
export function readRules(text: string): unknown {
  const { data } = readYamlText(text, 'rules.yml', { kind: 'a file of rules' })
  return data
}
// #endregion

// #region AnswerParts
export async function answerOf(llm: LLM, messages: readonly Message[], run: Run): Promise<string> {
  const parts = new AnswerParts()
  for await (const part of llm.generate({ messages }, run)) parts.take(part)
  return parts.answer.text
}
// #endregion

// #region sumUsage
export const total = sumUsage([{ inputTokens: 10 }, { inputTokens: 5, outputTokens: 2 }])
// { inputTokens: 15, outputTokens: 2, cachedInputTokens: 0, reasoningTokens: 0 }
// #endregion

// #region HostError
export function requireOrder(id: string | undefined): string {
  if (id !== undefined) return id
  throw new HostError('REQUEST_INVALID', 'The order is missing.', { suggestions: ['Name it: { "order": "A-1" }'] })
}
// #endregion

// #region AgentError
export async function register(host: AgentHost, text: string): Promise<void> {
  try {
    await host.register(text)
  } catch (error) {
    if (!(error instanceof AgentError)) throw error
    for (const { line, message } of error.problems) console.error(`line ${line}: ${message}`)
  }
}
// #endregion

// #region ModelLimited
export function refuse(reply: Response): Error {
  const seconds = Number(reply.headers.get('retry-after') ?? Number.NaN)
  return new ModelLimited('Too many requests.', {
    status: 429,
    retryAfterSeconds: Number.isNaN(seconds) ? undefined : seconds,
  })
}
// #endregion

// #region ModelRefused
export function tooLong(cause: unknown): Error {
  return new ModelRefused('The vendor takes 8000 tokens.', { reason: 'context_length_exceeded', cause })
}
// #endregion

// #region ERROR_CODES
export function statusOf(error: unknown): number {
  return error instanceof HostError ? ERROR_CODES[error.code] : 500
}
// #endregion

// #region memoryStorage
export const testHost = new AgentHost({ projectDir: '.', storage: memoryStorage() })
// #endregion

// #region scorers
export const isShort: Scorer = ({ output }) => ({ name: 'isShort', score: output.length <= 200 ? 1 : 0 })
export const isFast: Scorer = scorers.latency({ maxMs: 2000 })
// #endregion

// #region VERSION
export const userAgent = `my-adapter (agent-host ${VERSION})`
// #endregion
