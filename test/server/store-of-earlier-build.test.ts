import { expect } from 'chai'
import { openProject } from '../../src/assembly/open-project.ts'
import { serveStdio } from '../../src/server/adapters/mcp/stdio-server.ts'
import { resolveServerOptions, type ServerOptions } from '../../src/server/options/options.ts'
import { buildServer } from '../../src/server/server.ts'
import { openStore } from '../../src/store/open-store.ts'
import { callCli } from '../support/call-cli.ts'
import { CLIENT_TOOLS_PROJECT } from '../support/client-tools.ts'
import { describeWith } from '../support/describe-with.ts'
import { hasPostgres, startPostgres } from '../support/store-servers.ts'
import { makeProject } from '../support/temp-project.ts'

/** As builds before the format of this one wrote it. */
const OLD = ['response:resp_1', '{"version":2,"id":"resp_1","text":"","steps":[],"inputs":0,"facts":{}}'] as const

/** Doors by which a project is opened. */
const DOORS: Readonly<Record<string, Partial<ServerOptions>>> = {
  'serve, chat alone': { adapters: ['ChatCompatApiAdapter'] },
  'serve, responses': { adapters: ['ResponsesCompatApiAdapter'] },
  'serve, responses without a worker': { adapters: ['ResponsesCompatApiAdapter'], noWorker: true },
  'serve, MCP': { adapters: ['McpApiAdapter'] },
  dev: { adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter'], debug: true, development: true },
  worker: { workerOnly: true },
}

describe('a store of an earlier build', function () {
  this.timeout(20_000)

  async function makeOld() {
    const project = await makeProject(CLIENT_TOOLS_PROJECT)
    const location = { store: 'sqlite', dir: project.path('responses'), projectDir: project.dir }
    const store = await openStore(location)
    await store.commit([OLD])
    await store.close()
    const options = { projectDir: project.dir, logLevel: 'silent' as const }
    return { project, options, location }
  }

  async function failureOf(opening: Promise<unknown>): Promise<string> {
    return opening.then(
      () => 'opened',
      (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
    )
  }

  for (const [name, more] of Object.entries(DOORS)) {
    it(`is refused at start, and left as it is: ${name}`, async () => {
      const { project, options, location } = await makeOld()
      expect(await failureOf(buildServer({ ...options, ...more }))).to.equal(
        `STORE_UNAVAILABLE: The store ${project.path('responses/responses.db')} was written by an earlier build of agent-host, ` +
          'and is not read by this one; nothing in it was changed. Set it aside: rename its folder, or choose another one with --responses-dir.',
      )
      const store = await openStore(location)
      expect(await store.entries({ prefix: '', limit: 10 })).to.deep.equal([OLD])
      await store.close()
    })
  }

  it('is refused at start by MCP over standard input and output', async () => {
    const { options } = await makeOld()
    expect(await failureOf(serveStdio(resolveServerOptions(options)))).to.match(/^STORE_UNAVAILABLE: .* Set it aside: /)
  })

  it('is refused at its first use by a program, each time', async () => {
    const { options } = await makeOld()
    const project = await openProject(resolveServerOptions(options), {})
    for (const _try of [1, 2]) {
      expect(await failureOf(project.listWaiting())).to.match(/^STORE_UNAVAILABLE: .* Set it aside: /)
      const start = project.runs.of('').start({ agent: 'tools', messages: [{ role: 'user', content: 'hi' }] })
      expect(await failureOf(start)).to.match(/^STORE_UNAVAILABLE: .* Set it aside: /)
    }
    await project.close()
  })

  it('is checked, backed up and copied as it is, and not restored', async () => {
    const { project } = await makeOld()
    const cli = (...args: string[]) => callCli(['store', ...args], { cwd: project.dir })
    const checked = await cli('check')
    expect([checked.exitCode, checked.stdout]).to.deep.equal([0, '       1  stored responses\nNothing is damaged.\n'])
    expect(checked.stderr.replace(/\s+/g, ' ')).to.include('was written by an earlier build of agent-host')
    expect((await cli('backup', 'old.db')).exitCode).to.equal(0)
    await project.remove('responses')
    const restored = await cli('restore', 'old.db')
    expect([restored.exitCode, project.exists('responses/responses.db')]).to.deep.equal([2, false])
    expect(restored.stderr.replace(/\s+/g, ' ')).to.match(
      /old\.db was written by an earlier build .*; nothing changed\./,
    )
  })

  describeWith('PostgreSQL', hasPostgres(), 'in PostgreSQL', () => {
    it('is copied as it is, also to where it is refused, and refused by commands that read it', async () => {
      const { project } = await makeOld()
      const server = await startPostgres()
      try {
        const cli = (...args: string[]) => callCli(args, { cwd: project.dir })
        expect((await cli('store', 'copy', 'sqlite', server.url)).stdout).to.equal('Copied 1 records.\n')
        await project.write('debug/.keep', '')
        const { exitCode, stderr } = await cli('runs', '--store', server.url)
        expect(exitCode).to.equal(1)
        expect(stderr.replace(/\s+/g, ' ')).to.match(/earlier build .* Set it aside: choose another schema/)
      } finally {
        await server.remove()
      }
    })
  })
})
