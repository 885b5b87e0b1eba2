import { PassThrough } from 'node:stream'
import type { McpServerFactory } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Log } from '../../../protocols/log.ts'

/** A server whose one client is at the other end of standard input and output. */
export interface StdioServer {
  readonly log: Log
  /** The client has closed its end. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** Serves MCP over standard input and output. */
export function connectStdio(makeServer: McpServerFactory): Omit<StdioServer, 'log'> {
  // Goes on after the end of the input: the SDK would abort the calls that run, whose answers may still be read.
  const input = process.stdin.pipe(new PassThrough(), { end: false })
  const connection = serveStdio(makeServer, { transport: new StdioServerTransport(input, process.stdout) })
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('close', resolve)
    process.stdin.once('end', resolve)
  })
  return { ended, close: () => connection.close() }
}
