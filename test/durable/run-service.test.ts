import { expect } from 'chai'
import { openProject } from '../../src/assembly/open-project.ts'
import { resolveServerOptions } from '../../src/server/options/options.ts'
import { CLIENT_TOOLS_PROJECT } from '../support/client-tools.ts'
import { makeProject } from '../support/temp-project.ts'

describe('the durable runs of a server that starts', () => {
  async function open(projectDir: string, options: object = {}) {
    const all = resolveServerOptions({ projectDir, logLevel: 'silent', ...options })
    return openProject(all, {})
  }

  /** Starts a project, as a server does, and tells whether its runs were opened. */
  async function resume(projectDir: string, options: object = {}): Promise<boolean> {
    const project = await open(projectDir, options)
    await project.durableRuns.resume()
    try {
      return project.durableRuns.opened !== undefined
    } catch {
      return false
    } finally {
      await project.close()
    }
  }

  it('are opened where some are open, and nothing is opened otherwise', async () => {
    const { dir, exists } = await makeProject(CLIENT_TOOLS_PROJECT)
    expect([await resume(dir), exists('responses')]).to.deep.equal([false, false])
    const project = await open(dir)
    const runs = project.runs.of('acme')
    const ask = (content: string) => runs.start({ agent: 'tools', messages: [{ role: 'user', content }] })
    await runs.outcome((await ask('hello')).id)
    await project.close()
    expect(await resume(dir)).to.equal(false)
    const again = await open(dir)
    const { id } = await again.runs.of('acme').start({ agent: 'tools', messages: [{ role: 'user', content: 'pay x' }] })
    await again.runs.of('acme').outcome(id)
    await again.close()
    expect([await resume(dir), await resume(dir, { noWorker: true })]).to.deep.equal([true, false])
  })

  it('are opened for one that is queued', async () => {
    const { dir } = await makeProject(CLIENT_TOOLS_PROJECT)
    const first = await open(dir, { noWorker: true })
    await first.runs.of('').start({ agent: 'tools', messages: [{ role: 'user', content: 'hello' }] })
    await first.close()
    expect(await resume(dir)).to.equal(true)
  })
})
