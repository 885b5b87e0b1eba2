import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect } from 'chai'
import fsExtra from 'fs-extra'
import { withEsbuild } from '../../src/module/with-esbuild.ts'
import { eventually } from '../support/eventually.ts'
import { killRunning, startCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

/** Command lines of the children of a process, as Linux tells them. */
function childrenOf(pid = 0): string[] {
  const threads = readdirSync(`/proc/${pid}/task`)
  const ids = threads.flatMap(
    (thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').match(/\d+/g) ?? [],
  )
  return ids.map((id) => readFileSync(`/proc/${id}/cmdline`, 'utf8'))
}

describe('withEsbuild', () => {
  it('names the package that is missing where optional packages were left out', async () => {
    const { dir } = await makeProject({ 'package.json': '{}' })
    const copy = join(dir, 'lib/main.js')
    await fsExtra.copy(fileURLToPath(import.meta.resolve('esbuild')), copy)
    const building = withEsbuild(({ transform }) => transform('1'), pathToFileURL(copy).href)
    const error = await building.catch((reason) => reason)
    expect(error.message).to.equal(
      `@esbuild/${process.platform}-${process.arch}, which reads TypeScript, is not installed. Run npm ci on this machine, without --omit=optional.`,
    )
  })
})

describe('a server with TypeScript of a project', () => {
  afterEach(killRunning)

  it('keeps no process of esbuild once it has loaded, and starts one again for an edit', async function () {
    if (process.platform !== 'linux') this.skip()
    const module = (text: string) => `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Say', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ handleText: () => response.respondText('${text}') }) })`
    const project = await makeProject({
      'agents/say.yml': 'id: say\nmodules: [{ id: main, module: say }]',
      'modules/say.ts': module('first'),
    })
    const server = startCli(['serve', '--adapter', 'ChatCompatApiAdapter', '--port', '0'], { cwd: project.dir })
    // It may be gone again before this process has read that the server listens.
    const begun = eventually(() => expect(childrenOf(server.pid).join()).to.include('esbuild'), 40_000)
    const [[, url]] = await Promise.all([server.printed(/listening at (http:\/\/[\d.:]+)/), begun])
    const said = async () => {
      const body = JSON.stringify({ model: 'say', messages: [{ role: 'user', content: 'x' }] })
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
      const answer = (await (await fetch(`${url}/compat/chat/completions`, init)).json()) as {
        choices: [{ message: { content: string } }]
      }
      return answer.choices[0].message.content
    }
    const isIdle = () => expect(childrenOf(server.pid)).to.deep.equal([])
    await eventually(isIdle)
    await project.write('modules/say.ts', module('second'))
    await eventually(async () => expect(await said()).to.equal('second'))
    await eventually(isIdle)
  })
})
