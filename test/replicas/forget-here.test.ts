import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { forgetHere } from '../../src/replicas/forget-here.ts'
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
})
