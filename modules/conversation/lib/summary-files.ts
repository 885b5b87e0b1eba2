import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Message } from 'agent-host'

/** Summaries by the messages they replace. */
export class SummaryFiles {
  readonly #dir: string

  constructor(dir: string) {
    this.#dir = dir
  }

  /** The longest beginning of a conversation of which there is a summary: how many messages it stands for. */
  async find(messages: readonly Message[]): Promise<{ summary: string; count: number } | undefined> {
    const names = namesOf(messages)
    for (let count = names.length; count > 0; count--) {
      const summary = await readFile(this.#path(names[count - 1]), 'utf8').catch(() => undefined)
      if (summary !== undefined) return { summary, count }
    }
    return undefined
  }

  /** Whole or not at all: written beside, then moved into its place. */
  async save(messages: readonly Message[], summary: string): Promise<void> {
    await mkdir(this.#dir, { recursive: true })
    const draft = join(this.#dir, `${randomUUID()}.tmp`)
    try {
      await writeFile(draft, summary, { flush: true })
      await rename(draft, this.#path(namesOf(messages).at(-1)))
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  async remove(messages: readonly Message[]): Promise<void> {
    await rm(this.#path(namesOf(messages).at(-1)), { force: true })
  }

  #path(name = ''): string {
    return join(this.#dir, `${name}.txt`)
  }
}

/** For each beginning of a conversation a name that no other has. */
function namesOf(messages: readonly Message[]): string[] {
  const hash = createHash('sha256')
  return messages.map((message) => {
    const { role, content } = message
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
    hash.update(JSON.stringify([role, content, calls]))
    return hash.copy().digest('hex')
  })
}
