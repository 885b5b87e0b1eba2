import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { McpConnection, type McpServerConfig } from '../../../modules/tools/lib/mcp/connection.ts'
import type { McpSignIn } from '../../../modules/tools/lib/mcp/sign-in.ts'
import { makeContext } from '../../support/fake-run.ts'

describe('a connection to an MCP server', () => {
  it('has its tools although the store does not take them', async () => {
    const config: McpServerConfig = {
      name: 'one',
      command: process.execPath,
      args: [fileURLToPath(new URL('../../support/mcp-tool-server.js', import.meta.url))],
      env: {},
      cwd: '.',
      transport: 'http',
      headers: {},
      prefix: '',
      exclude: [],
      timeout: 10,
      total_timeout: 10,
      pin: false,
    }
    const signIn = { token: async () => 'it', noteTools: () => Promise.reject(new Error('The disk is full.')) }
    const context = makeContext()
    const connection = new McpConnection(config, context, () => {}, signIn as unknown as McpSignIn)
    try {
      await connection.connect()
      expect(connection.tools).to.not.have.lengthOf(0)
      expect(context.lines).to.include("warn The tools of the MCP server 'one' cannot be stored: The disk is full.")
    } finally {
      await connection.close()
    }
  })
})
