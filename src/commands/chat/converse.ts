import { createInterface } from 'node:readline/promises'
import { didYouMean } from '../../definition/nearest-name.ts'
import { hasCode, messageOf } from '../../errors.ts'
import { shorten } from '../../shorten.ts'
import { cleanText } from '../../wire/clean-text.ts'
import { formatCall } from '../terminal/format-call.ts'
import { oneLine } from '../terminal/one-line.ts'
import { askDecisions } from './ask-decision.ts'
import type { Backend, Reply, ReplyListener, ToolOutcome } from './backend.ts'
import { MarkdownStream } from './markdown-stream.ts'

const HELP = [
  '/agents        list the agents; /agents <name> talks to another',
  '/new           begin a new conversation',
  '/history       show this conversation',
  '/help          show this list',
  '/exit          leave (also Ctrl-D)',
]
const COMMANDS = ['/agents', '/new', '/history', '/help', '/exit']
const DIM = '\u001b[2m'
const RESET = '\u001b[0m'
const MAX_CHARS = 160

/** A conversation on a terminal, until the user leaves. Ctrl-C stops an answer; at the prompt it leaves. */
export async function converse(backend: Backend, firstAgent: string): Promise<void> {
  await new TerminalConversation(backend, firstAgent).run()
}

class TerminalConversation {
  readonly #backend: Backend
  readonly #terminal = createInterface({ input: process.stdin, output: process.stdout, historySize: 200 })
  readonly #closed: Promise<undefined>
  #agent: string
  #conversation: ReturnType<Backend['open']>
  /** Of the answer that comes now. */
  #answering: AbortController | undefined

  constructor(backend: Backend, agent: string) {
    this.#backend = backend
    this.#agent = agent
    this.#conversation = backend.open(agent)
    this.#closed = new Promise((resolve) => this.#terminal.once('close', () => resolve(undefined)))
    this.#terminal.on('SIGINT', () => {
      if (this.#answering) this.#answering.abort()
      else this.#terminal.close()
    })
  }

  async run(): Promise<void> {
    print(`Talking to ${this.#agent}. /help shows the commands.`)
    for (;;) {
      const line = await this.#ask(`\n${this.#agent}> `)
      if (line === undefined) break
      const text = line.trim()
      if (text.startsWith('/')) await this.#obey(text).catch(printError)
      else if (text !== '') await this.#answer(text)
    }
    print('')
  }

  /** @returns undefined when the user leaves */
  #ask(prompt: string): Promise<string | undefined> {
    return Promise.race([this.#terminal.question(cleanText(prompt)).catch(() => undefined), this.#closed])
  }

  async #answer(text: string): Promise<void> {
    const shown = new Set<string>()
    let last = await this.#attempt((listener) => this.#conversation.ask(text, listener), shown)
    while (last && last.waitsFor.length > 0) {
      const decisions = await askDecisions(last.waitsFor, (prompt) => this.#ask(prompt))
      if (!decisions) return
      // If a decision does not match, prompt again.
      last = await this.#attempt((listener) => this.#conversation.decide(decisions, listener), shown, last)
    }
  }

  /**
   * Runs a part of an answer; undefined when it fails or is stopped, and `refused` when nothing was done of it.
   *
   * @param shown calls of its earlier parts: one that waited begins again, and is named once
   */
  async #attempt(
    work: (listener: ReplyListener) => Promise<Reply>,
    shown: Set<string>,
    refused?: Reply,
  ): Promise<Reply | undefined> {
    const answering = new AbortController()
    this.#answering = answering
    const { endLine, ...listener } = showAnswer(answering.signal, shown)
    try {
      const given = await work(listener)
      endLine()
      return given
    } catch (error) {
      endLine()
      if (answering.signal.aborted) print(`${DIM}Stopped.${RESET}`)
      else printError(error)
      return hasCode(error, 'REQUEST_INVALID') ? refused : undefined
    } finally {
      this.#answering = undefined
    }
  }

  async #obey(line: string): Promise<void> {
    const [command = '', name] = line.split(/\s+/)
    if (command === '/agents') await this.#showAgents(name)
    else if (command === '/new') {
      this.#begin(this.#agent)
      print('New conversation.')
    } else if (command === '/history') this.#showHistory()
    else if (command === '/help') for (const each of HELP) print(each)
    else if (command === '/exit') this.#terminal.close()
    else print([`There is no command ${command}.`, ...didYouMean(command, COMMANDS), 'See /help.'].join(' '))
  }

  #begin(agent: string): void {
    this.#agent = agent
    this.#conversation = this.#backend.open(agent)
  }

  async #showAgents(name: string | undefined): Promise<void> {
    const agents = await this.#backend.agents()
    if (name === undefined) {
      if (agents === undefined) return print('This server lists no agents to this key. /agents <name> talks to one.')
      for (const { id, description } of agents)
        print(cleanText(`${id === this.#agent ? '*' : ' '} ${id}  ${description}`))
      return
    }
    const ids = agents?.map(({ id }) => id)
    if (ids && !ids.includes(name)) return print([`There is no agent '${name}'.`, ...didYouMean(name, ids)].join(' '))
    this.#begin(name)
    print(`Talking to ${name}, in a new conversation.`)
  }

  #showHistory(): void {
    const { said } = this.#conversation
    for (const { role, content } of said) print(cleanText(`${role === 'user' ? 'you' : this.#agent}: ${content}`))
    if (said.length === 0) print('Nothing was said yet.')
  }
}

function print(text: string): void {
  console.log(text)
}

/** Writes an answer as it comes, with its calls of tools on lines of their own. */
function showAnswer(signal: AbortSignal, shown: Set<string>): ReplyListener & { endLine(): void } {
  const before = new Set(shown)
  const markdown = new MarkdownStream()
  let isLineOpen = false
  const write = (text: string) => {
    if (text === '') return
    process.stdout.write(text)
    isLineOpen = !text.endsWith('\n')
  }
  const endLine = () => {
    write(markdown.end())
    if (isLineOpen) write('\n')
  }
  return {
    signal,
    endLine,
    onText: (text) => write(markdown.push(text)),
    onCall: (name, args) => {
      const call = formatCall(name, args)
      if (before.delete(call)) return
      shown.add(call)
      endLine()
      write(`${DIM}→ ${shorten(call, MAX_CHARS)}${RESET}
`)
    },
    onCallEnd: (call) => write(`${DIM}${describeOutcome(call)}${RESET}\n`),
  }
}

function describeOutcome({ name, result, error }: ToolOutcome): string {
  return error === undefined
    ? `← ${shorten(oneLine(result ?? ''), MAX_CHARS)}`
    : `✗ ${oneLine(name)} failed: ${shorten(oneLine(error), MAX_CHARS)}`
}

function printError(error: unknown): void {
  print(cleanText(`Error: ${messageOf(error)}`))
}
