import { mkdirSync, writeFileSync } from 'node:fs'
import type { Log } from 'agent-host'
import { expect } from 'chai'
import { RUN_PREFIX, RunIds } from '../../src/durable/runs/run-ids.ts'
import { rowKey } from '../../src/durable/runs/run-keys.ts'
import { silentLog } from '../../src/protocols/log.ts'
import type { RecordStore } from '../../src/store/record-store.ts'
import type { TapeWriter } from '../../src/tape/recording/tape-writer.ts'
import { TapeSweeper } from '../../src/tape/tape-sweeper.ts'
import { makeProject } from '../support/temp-project.ts'

const TENANT = 'Müller & Co'
const ids = new RunIds(RUN_PREFIX)

describe('TapeSweeper', () => {
  let projectDir: string
  let file: string
  const warnings: string[] = []
  const log: Log = { ...silentLog, warn: (message) => void warnings.push(message) }

  beforeEach(async () => {
    projectDir = (await makeProject({})).dir
    file = `${projectDir}/debug/tapes/stored.txt`
    mkdirSync(`${projectDir}/debug/tapes`, { recursive: true })
    warnings.length = 0
  })

  /** Starts a server that stores a run or none, beside others that are not stored, and stops it. @returns the runs whose tapes were deleted */
  async function serve(rows: readonly string[], stored?: string, unstored: readonly string[] = []): Promise<string[]> {
    const deleted: string[] = []
    const writer = {
      has: (runId: string) => runId.length === 36,
      delete: (runIds: string[]) => void deleted.push(...runIds),
    } as unknown as TapeWriter
    const known = new Set(rows.map((id) => `@${encodeURIComponent(TENANT)}/${rowKey(id)}`))
    const records = {
      get: async (keys: string[]) => keys.map((key) => (known.has(key) ? '{}' : undefined)),
      watch: () => () => {},
      close: async () => {},
    } as unknown as RecordStore
    const openRecords = async () => records
    const sweeper = new TapeSweeper({ projectDir, writer, openRecords, log })
    for (const id of unstored) sweeper.noteTape(uuidOf(id))
    if (stored) {
      sweeper.noteTape(uuidOf(stored))
      sweeper.noteStored(stored, TENANT)
    }
    await sweeper.close()
    return deleted
  }

  const uuidOf = (id: string) => id.slice(RUN_PREFIX.length)
  const lineOf = (id: string) => `${encodeURIComponent(TENANT)} ${uuidOf(id)}`

  for (const half of ['M%C3%B', 'Mer', 'M%', `${lineOf('resp_0197')}`]) {
    it(`keeps the tape of a run that is noted behind half a line (${half}), and deletes it with its run`, async () => {
      const id = ids.next()
      writeFileSync(file, half)
      await serve([id], id)
      expect(await serve([id])).deep.equal([])
      const deleted = await serve([])
      expect({ deleted, warnings }).deep.equal({ deleted: [uuidOf(id)], warnings: [] })
    })
  }

  it('keeps the tapes of runs that were never stored, beside one whose run was deleted', async () => {
    const [deleted, chat] = [ids.next(), ids.next()]
    expect(await serve([], deleted, [chat])).deep.equal([uuidOf(deleted)])
  })

  it('looks once for what is deleted while it looks, and leaves no watch behind', async () => {
    const id = ids.next()
    writeFileSync(file, `${lineOf(id)}\n`)
    const seen = { reads: 0, watches: 0 }
    let notify = () => {}
    const records = {
      async get(keys: string[]) {
        if (++seen.reads === 1) for (let count = 0; count < 100; count++) notify()
        return keys.map(() => '{}')
      },
      watch(_topics: string[], onNotice: () => void) {
        notify = onNotice
        seen.watches++
        return () => void seen.watches--
      },
      close: async () => {},
    } as unknown as RecordStore
    const writer = { has: () => true } as unknown as TapeWriter
    await new TapeSweeper({ projectDir, writer, openRecords: async () => records, log }).close()
    expect(seen).deep.equal({ reads: 2, watches: 0 })
  })

  it('reads the lines around one that is damaged, whose tape stays', async () => {
    const [one, two, other] = [ids.next(), ids.next(), ids.next()]
    writeFileSync(file, `${lineOf(one)}\nM%${lineOf(other)}\n${lineOf(two)}\n`)
    expect(await serve([two])).deep.equal([uuidOf(one)])
    expect(warnings).deep.equal([])
  })
})
