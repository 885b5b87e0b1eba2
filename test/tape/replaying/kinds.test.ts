import type { RunEvent } from 'agent-host'
import { expect } from 'chai'
import { describeDivergence } from '../../../src/tape/replaying/divergence.ts'
import { forbidOutside } from '../../support/forbid-outside.ts'
import { globalList } from '../../support/global-list.ts'
import { itWith } from '../../support/it-with.ts'
import { KIND_MODULES, TAPE_KINDS } from '../../support/tape-kinds.ts'
import { openRecordingHost, type RecordingHost, replay } from '../../support/tapes.ts'
import { makeSharedProject, removeFolder } from '../../support/temp-project.ts'

/** Events with ids that the run made itself by their position; without digests, which name the version of the agent. */
function comparable(events: readonly RunEvent[]): unknown[] {
  const ids = new Map<string, string>()
  const visit = (value: unknown): unknown => {
    if (typeof value === 'string' && /^call_[\da-f-]{36}$/.test(value)) {
      ids.set(value, ids.get(value) ?? `call ${ids.size}`)
      return ids.get(value)
    }
    if (Array.isArray(value)) return value.map(visit)
    if (Object.prototype.toString.call(value) !== '[object Object]') return value
    const fields = Object.entries(value as object).filter(([name]) => name !== 'digest')
    return Object.fromEntries(fields.map(([name, field]) => [name, visit(field)]))
  }
  return events.map(visit)
}

describe('replaying each kind of run', () => {
  let projectDir: string
  let recording: RecordingHost
  let allow = () => {}

  before(async () => {
    projectDir = (await makeSharedProject(KIND_MODULES)).dir
    recording = await openRecordingHost(projectDir)
  })

  afterEach(() => allow())

  after(async () => {
    await recording.close()
    await removeFolder(projectDir)
  })

  for (const { name, agent, drive, edit, changedCall } of TAPE_KINDS) {
    const program = name === 'python' ? 'Python 3.8' : undefined
    itWith(
      program,
      `${name}: the same events without a tool, a connection or a process; an edited prompt is named`,
      async () => {
        await recording.host.register(agent)
        const { runId, events } = await drive(recording)
        const tape = await recording.tape(runId)
        const executed = globalList('toolCalls').length
        allow = forbidOutside()
        const replayed = await replay(tape, { projectDir, agent: { source: agent, file: undefined } })
        expect(replayed.divergence && describeDivergence(replayed.divergence).join('\n')).to.equal(undefined)
        expect(comparable(replayed.events)).to.deep.equal(comparable(events))
        const asRecorded = await replay(tape, { projectDir })
        expect(asRecorded.divergence).to.equal(undefined)
        expect(globalList('toolCalls').length).to.equal(executed)
        if (edit(agent) === agent) return
        const { divergence } = await replay(tape, { projectDir, agent: { source: edit(agent), file: undefined } })
        expect(divergence?.kind).to.equal(changedCall === undefined ? 'end' : 'call')
        if (changedCall !== undefined) expect(divergence?.recorded?.number).to.equal(changedCall)
      },
    )
  }
})
