import { deserializeMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client'
import { LineChild, type LineChildOptions } from '../line-child.ts'

/** Largest message of a server. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024

/** MCP over the standard input and output of a program that is started here, and ended with everything that it has started. */
export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #options: Pick<LineChildOptions, 'command' | 'args' | 'cwd' | 'env' | 'log'>
  #child: LineChild | undefined
  #exitReason: string | undefined

  constructor(options: Pick<LineChildOptions, 'command' | 'args' | 'cwd' | 'env' | 'log'>) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#child = new LineChild({
      ...this.#options,
      maxLineChars: MAX_MESSAGE_BYTES,
      onLine: (line) => this.#receive(line),
      onExit: (reason) => {
        this.#exitReason = reason
        this.onerror?.(new Error(`the program ${reason}`))
        this.onclose?.()
      },
    })
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#exitReason !== undefined) throw new Error(`the program ${this.#exitReason}`)
    await this.#child?.write(JSON.stringify(message))
  }

  async close(): Promise<void> {
    await this.#child?.close()
  }

  #receive(line: string): void {
    if (line.trim() === '') return
    let message: JSONRPCMessage
    try {
      message = deserializeMessage(line)
    } catch {
      // Some print a banner before they speak.
      this.#options.log.debug(`Not a message: ${line.slice(0, 200)}`)
      return
    }
    this.onmessage?.(message)
  }
}
