import { createInterface } from 'node:readline/promises'
import { didYouMean } from '../../definition/nearest-name.ts'
import { HostError, messageOf } from '../../errors.ts'
import { oneLine } from '../runs/format-run.ts'
import { askDecisions } from './ask-decision.ts'
import type { Answer, AnswerListener, Backend, ToolOutcome } from './backend.ts'
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
  let agent = firstAgent
  let conversation = backend.open(agent)
  let answering: AbortController | undefined
  const terminal = createInterface({ input: process.stdin, output: process.stdout, historySize: 200 })
  terminal.on('SIGINT', () => {
    if (answering) answering.abort()
    else terminal.close()
  })
  const print = (text: string) => console.log(text)
  const closed = new Promise<undefined>((resolve) => terminal.once('close', () => resolve(undefined)))

  const ask = (prompt: string) => Promise.race([terminal.question(prompt).catch(() => undefined), closed])

  /** Runs a part of an answer; undefined when it fails or is stopped, and `refused` when nothing was done of it. */
  async function attempt(
    work: (listener: AnswerListener) => Promise<Answer>,
    refused?: Answer,
  ): Promise<Answer | undefined> {
    answering = new AbortController()
    const { endLine, ...listener } = showAnswer(answering.signal)
    try {
      const given = await work(listener)
      endLine()
      return given
    } catch (error) {
      endLine()
      print(answering.signal.aborted ? `${DIM}Stopped.${RESET}` : `Error: ${messageOf(error)}`)
      return error instanceof HostError && error.code === 'REQUEST_INVALID' ? refused : undefined
    } finally {
      answering = undefined
    }
  }

  async function answer(text: string): Promise<void> {
    let last = await attempt((listener) => conversation.ask(text, listener))
    while (last && last.waitsFor.length > 0) {
      const decisions = await askDecisions(last.waitsFor, ask)
      if (!decisions) return
      // If a decision does not match, prompt again.
      last = await attempt((listener) => conversation.decide(decisions, listener), last)
    }
  }

  async function showAgents(name: string | undefined): Promise<void> {
    const agents = await backend.agents()
    const ids = agents.map(({ id }) => id)
    if (name === undefined) {
      for (const { id, description } of agents) print(`${id === agent ? '*' : ' '} ${id}  ${description}`)
    } else if (ids.includes(name)) {
      agent = name
      conversation = backend.open(agent)
      print(`Talking to ${name}, in a new conversation.`)
    } else {
      print([`There is no agent '${name}'.`, ...didYouMean(name, ids)].join(' '))
    }
  }

  async function obey(line: string): Promise<void> {
    const [command = '', name] = line.split(/\s+/)
    if (command === '/agents') return showAgents(name)
    if (command === '/new') {
      conversation = backend.open(agent)
      print('New conversation.')
    } else if (command === '/history') {
      for (const { role, content } of conversation.said) print(`${role === 'user' ? 'you' : agent}: ${content}`)
      if (conversation.said.length === 0) print('Nothing was said yet.')
    } else if (command === '/help') for (const each of HELP) print(each)
    else if (command === '/exit') terminal.close()
    else print([`There is no command ${command}.`, ...didYouMean(command, COMMANDS), 'See /help.'].join(' '))
  }

  print(`Talking to ${agent}. /help shows the commands.`)
  for (;;) {
    const line = await ask(`\n${agent}> `)
    if (line === undefined) break
    const text = line.trim()
    if (text.startsWith('/')) await obey(text)
    else if (text !== '') await answer(text)
  }
  print('')
}

/** Writes an answer as it comes, with its calls of tools on lines of their own. */
function showAnswer(signal: AbortSignal): AnswerListener & { endLine(): void } {
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
      endLine()
      write(`${DIM}→ ${name}(${shorten(JSON.stringify(args) ?? '')})${RESET}\n`)
    },
    onCallEnd: (call) => write(`${DIM}${describeOutcome(call)}${RESET}\n`),
  }
}

function describeOutcome({ name, result, error }: ToolOutcome): string {
  return error === undefined ? `← ${shorten(oneLine(result ?? ''))}` : `✗ ${name} failed: ${shorten(oneLine(error))}`
}

function shorten(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text
}
