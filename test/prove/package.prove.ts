// Each module of the library, ejected alone from the installed package, type-checks and loads; fresh dependencies warn of nothing on Node 20 and 24; each package of a protocol builds and passes its tests against it alone.
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'
import { listLibrary } from '../../src/module/load-module.ts'
import { InstalledPackage } from '../support/installed-package.ts'

const PACKAGES = fileURLToPath(new URL('../../packages', import.meta.url))
/** Packages of protocols. */
const PROTOCOLS = ['messages', 'ag-ui']
const VERSIONS = ['20', '24']
const SCRIPT = `import { openProject } from 'agent-host'
const project = await openProject({ logLevel: 'warn' })
for (const agent of ['compatible', 'offline']) console.log(agent, (await project.run(agent, 'hello')).status)
await project.close()
`

/** A model that answers every request of the chat completions API. */
async function startModel() {
  const server = createServer((_request, response) => {
    const choice = (delta: object, finish_reason: string | null) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
    response.setHeader('content-type', 'text/event-stream')
    response.end(`${choice({ role: 'assistant', content: 'Hi.' }, null)}${choice({}, 'stop')}data: [DONE]\n\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, stop: () => server.close() }
}

describe('package', () => {
  it('has with each module everything that it needs when it is ejected alone', async () => {
    await using installed = await InstalledPackage.create()
    expect(await installed.ejectEachAlone(listLibrary())).to.deep.equal([0, ''])
  }).timeout(600_000)

  for (const name of PROTOCOLS)
    it(`is all that ${name}, a package of a protocol, needs: outside of the repository it builds, and passes its tests`, async () => {
      await using installed = await InstalledPackage.create()
      const cwd = join(installed.dir, '..', name)
      const filter = (path: string) => !['dist', 'node_modules'].includes(basename(path))
      await cp(join(PACKAGES, name), cwd, { recursive: true, filter })
      const added = ['--save-dev', installed.tarball, 'mocha', 'tsx']
      await execa('npm', ['install', '--no-fund', '--no-audit', ...added], { cwd })
      await execa('npm', ['run', 'build'], { cwd })
      const options = ['--node-option', 'import=tsx', '--timeout', '60000', '--exit', 'test/*.test.ts']
      const { stdout } = await execa('npx', ['mocha', ...options], { cwd })
      expect(stdout)
        .to.match(/\d+ passing/)
        .and.to.not.match(/failing|pending/)
    }).timeout(600_000)

  it('answers without a word of warning, with the newest dependencies that it allows, on each Node', async () => {
    await using installed = await InstalledPackage.create()
    const { dir } = installed
    const model = await startModel()
    const agent = (id: string, llm: string) =>
      `id: ${id}\nmodules:\n  - ${llm}\n  - { id: main, module: orchestrator/tool-loop }\n`
    await mkdir(join(dir, 'agents'))
    const compatible = `{ id: llm, module: llm/openai-compatible, config: { model: m, base_url: '${model.url}' } }`
    await writeFile(join(dir, 'agents/compatible.yml'), agent('compatible', compatible))
    await writeFile(join(dir, 'agents/offline.yml'), agent('offline', '{ id: llm, module: llm/offline }'))
    await writeFile(join(dir, 'ask.mjs'), SCRIPT)
    try {
      for (const version of VERSIONS) {
        const nodes = join(dir, `node-${version}`)
        const binary = `node-${process.platform}-${process.arch}`
        await execa('npm', ['install', '--prefix', nodes, '--no-fund', '--no-audit', `${binary}@${version}`])
        const node = join(nodes, 'node_modules', binary, 'bin/node')
        const { stdout, stderr } = await execa(node, ['ask.mjs'], { cwd: dir })
        expect({ version, stdout, stderr }).to.deep.equal({
          version,
          stdout: 'compatible completed\noffline completed',
          stderr: '',
        })
      }
    } finally {
      model.stop()
    }
  }).timeout(600_000)
})
