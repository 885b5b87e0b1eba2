// Every kind of run: no tool in 1,000 replays, no connection, and the size of tapes.
import { readFileSync } from 'node:fs'
import net from 'node:net'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { globalList } from '../support/global-list.ts'
import { KIND_MODULES, TAPE_KINDS } from '../support/tape-kinds.ts'
import { openRecordingHost, pathOfTape, type RecordingHost, replay } from '../support/tapes.ts'
import { makeSharedProject, removeFolder } from '../support/temp-project.ts'

const REPLAYS = 1000
const MAX_RATIO = 1.3

/** Has every attempt to connect fail until the returned function is called. */
function forbidSockets(): () => void {
  const { connect } = net.Socket.prototype
  net.Socket.prototype.connect = () => {
    throw new Error('A replay connects.')
  }
  return () => {
    net.Socket.prototype.connect = connect
  }
}

describe('replays', function () {
  this.timeout(15 * 60_000)
  let projectDir: string
  let recording: RecordingHost
  const recorded = new Map<string, string>()

  before(async () => {
    projectDir = (await makeSharedProject(KIND_MODULES)).dir
    recording = await openRecordingHost(projectDir)
    for (const { name, agent, drive } of TAPE_KINDS) {
      await recording.host.register(agent)
      recorded.set(name, (await drive(recording)).runId)
    }
    await recording.writer.finish()
  })

  after(async () => {
    await recording.close()
    await removeFolder(projectDir)
  })

  it(`run no tool and connect to nothing, ${REPLAYS} times, with a live model too`, async () => {
    const executed = globalList('toolCalls').length
    const allow = forbidSockets()
    try {
      for (let done = 0; done < REPLAYS; ) {
        for (const { name, agent } of TAPE_KINDS) {
          const tape = await recording.tape(recorded.get(name) as string)
          const live = done % 2 === 0 || agent.modules.every(({ id }) => id !== 'llm') ? [] : ['llm']
          const { divergence } = await replay(tape, { projectDir, agent: { source: agent, file: undefined }, live })
          if (live.length === 0) expect(divergence, name).to.equal(undefined)
          if (++done === REPLAYS) break
        }
      }
    } finally {
      allow()
    }
    expect(globalList('toolCalls').length).to.equal(executed)
  })

  it(`tapes are at most ${MAX_RATIO} times as large as the gzip of their lines`, () => {
    for (const [name, runId] of recorded) {
      const file = readFileSync(pathOfTape(projectDir, runId))
      const ratio = file.length / gzipSync(gunzipSync(file)).length
      console.log(`      ${name}: ${file.length} bytes, ${ratio.toFixed(2)}`)
      expect(ratio, name).to.be.at.most(MAX_RATIO)
    }
  })
})
