import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { eventually } from '../support/eventually.ts'
import { textOf } from '../support/responses.ts'
import { startResponses } from '../support/responses-process.ts'
import { killRunning, startCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const RUN = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

/** An agent that seals a text, opens one, or says where sign-ins return to. */
const VAULT = {
  '.env': `AGENT_HOST_SECRET_KEY=${'s'.repeat(32)}\n`,
  'agents/vault.yml': 'id: vault\nmodules: [{ id: main, module: vault }]',
  'modules/vault.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Vault', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }, _config, context) => ({ async handleText(text, run) {
    const [verb, word] = text.split(' ')
    if (verb === 'return') return response.respondText(context.callbackUrl)
    await response.respondText((await (verb === 'seal' ? context.seal(word, run) : context.unseal(word, run))) ?? 'cannot be opened')
  } }) })`,
}

describe('AGENT_HOST_SECRET_KEY of .env', () => {
  afterEach(killRunning)

  it('opens in one command what another sealed, whatever their store', async () => {
    const [one, other] = [await makeProject(VAULT), await makeProject(VAULT)]
    const client = new Client({ name: 'test', version: '1.0.0' })
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [RUN, 'mcp', '--stdio'],
        cwd: one.dir,
        stderr: 'pipe',
      }),
    )
    const { content } = await client.callTool({ name: 'vault', arguments: { message: 'seal pearls' } })
    await client.close()
    const [sealed] = content as { text?: string }[]
    const { stdout } = await callCli(['chat', '--once', `open ${sealed?.text}`], { cwd: other.dir })
    expect(stdout).to.equal('pearls\n')
  })

  it('opens in a worker what a server sealed, and sign-ins that a worker begins return to its --public-url', async () => {
    const { dir } = await makeProject(VAULT)
    const front = await startResponses(dir, ['--no-worker'])
    const sealed = textOf((await front.ask('', { model: 'vault', input: 'seal pearls' })).json)
    const worker = startCli(['worker', '--public-url', 'https://agents.example.com'], { cwd: dir })
    await worker.printed(/listening/)
    const ask = async (input: string) => {
      const { json } = await front.ask('', { model: 'vault', input, background: true })
      return eventually(async () => {
        const { json: ended } = await front.ask(`/${json.id}`)
        expect(ended.status).to.equal('completed')
        return textOf(ended)
      })
    }
    expect(await ask(`open ${sealed}`)).to.equal('pearls')
    expect(await ask('return')).to.equal('https://agents.example.com/oauth/callback')
  })
})
