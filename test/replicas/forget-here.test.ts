import { randomBytes } from 'node:crypto'
import { AgentHost, defineModule, Response, TextMessageHandler } from 'agent-host'
import { expect } from 'chai'
import { deferred } from '../../src/async.ts'
import { silentLog } from '../../src/protocols/log.ts'
import { forgetHere } from '../../src/replicas/forget-here.ts'
import { Traces } from '../../src/trace/traces.ts'
import { listTapes, openRecordingHost } from '../support/tapes.ts'
import { makeProject } from '../support/temp-project.ts'

describe('forgetting a user on one server', () => {
  it('deletes the tape of a run that has ended just before', async () => {
    const { dir: projectDir } = await makeProject({})
    const { host, writer, run, close } = await openRecordingHost(projectDir)
    try {
      await host.register({ id: 'echo', modules: [{ id: 'main', module: 'echo' }] })
      // Its tape takes a while to be compressed.
      await run('echo', randomBytes(4_000_000).toString('base64'), { user: 'ada' })
      const deleteTapes = (runIds: readonly string[]) => writer.delete(runIds)
      const here = { host, traces: undefined, projectDir, deleteTapes }
      const { tapes } = await forgetHere(here, { tenant: '', user: 'ada', runIds: [] })
      await writer.finish()
      expect([tapes, listTapes(projectDir)]).deep.equal([1, []])
    } finally {
      await close()
    }
  })

  it('leaves no end of a run whose events another process of its folder has removed before', async () => {
    const project = await makeProject({})
    const options = { dir: project.path('debug'), maxBytes: 1024 ** 2, redact: (text: string) => text, log: silentLog }
    const traces = [await Traces.open(options), await Traces.open(options)] as const
    const [other, host] = [new AgentHost(), new AgentHost()]
    try {
      const said = deferred()
      const Sayer = defineModule({
        name: 'Sayer',
        provides: [TextMessageHandler],
        uses: { response: Response },
        create: ({ response }) => ({
          async handleText(text) {
            await response.respondText(text)
            said.resolve()
            await new Promise(() => {})
          },
        }),
      })
      traces[1].follow(host)
      await host.register({ id: 'sayer', modules: [{ id: 'main', module: Sayer }] })
      const { result } = host.start('sayer', { user: 'ada', messages: [{ role: 'user', content: 'canary' }] })
      result.catch(() => {})
      await said.promise
      await traces[1].query('count', {})
      const forgotten = []
      for (const [index, here] of [other, host].entries()) {
        const parts = { host: here, traces: traces[index], projectDir: project.dir }
        forgotten.push(await forgetHere(parts, { tenant: '', user: 'ada', runIds: [] }))
      }
      expect(forgotten.map(({ ended, traces: removed }) => [ended, removed])).deep.equal([
        [0, 1],
        [1, 0],
      ])
      expect(await project.read('debug/sayer.jsonl')).not.contain('canary')
      expect(await traces[1].query('count', {})).equal(0)
    } finally {
      for (const each of traces) await each.close()
    }
  })
})
