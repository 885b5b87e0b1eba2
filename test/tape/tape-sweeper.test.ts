import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { Log } from 'agent-host'
import { expect } from 'chai'
import { deferred } from '../../src/async.ts'
import { RUN_PREFIX, RunIds } from '../../src/durable/runs/run-ids.ts'
import { rowKey } from '../../src/durable/runs/run-keys.ts'
import { silentLog } from '../../src/protocols/log.ts'
import type { AgentRun } from '../../src/run/agent-run.ts'
import type { RecordStore } from '../../src/store/record-store.ts'
import { TapeSweeper } from '../../src/tape/tape-sweeper.ts'
import { eventually } from '../support/eventually.ts'
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

  /** Servers of one machine share a folder of tapes and a store. */
  const folder = {
    tapes: new Set<string>(),
    rows: new Set<string>(),
    deleted: [] as string[],
    /** Called when rows are looked for. */
    onLook: () => {},
  }

  const writer = {
    has: (runId: string) => folder.tapes.has(runId),
    delete: async (runIds: readonly string[]) => {
      for (const runId of runIds) folder.tapes.delete(runId)
      folder.deleted.push(...runIds)
    },
  }
  const records = {
    async get(keys: string[]) {
      folder.onLook()
      const known = new Set([...folder.rows].map((id) => `@${encodeURIComponent(TENANT)}/${rowKey(id)}`))
      return keys.map((key) => (known.has(key) ? '{}' : undefined))
    },
    watch: () => () => {},
    close: async () => {},
  } as unknown as RecordStore

  beforeEach(() => {
    folder.tapes.clear()
    folder.rows.clear()
    folder.deleted = []
    folder.onLook = () => {}
  })

  const start = () => new TapeSweeper({ projectDir, writer, openRecords: async () => records, log })

  /** Begins a run, within another or none. @returns a function that ends it */
  function begin(
    sweeper: TapeSweeper,
    id: string,
    { within, hasTape = true }: { within?: string; hasTape?: boolean } = {},
  ) {
    const { promise, resolve } = deferred()
    const parent = within === undefined ? undefined : ({ runId: within } as AgentRun['parent'])
    sweeper.noteRun({ id, parent }, hasTape, promise)
    return async () => {
      resolve()
      await promise
      if (hasTape) folder.tapes.add(id)
    }
  }

  /** Starts a server that stores a run or none, beside others that are not stored, and stops it. @returns the runs whose tapes were deleted */
  async function serve(rows: readonly string[], stored?: string, unstored: readonly string[] = []): Promise<string[]> {
    folder.rows = new Set(rows)
    folder.deleted = []
    const sweeper = start()
    for (const id of unstored) await begin(sweeper, uuidOf(id))()
    if (stored) {
      await begin(sweeper, uuidOf(stored))()
      sweeper.noteStored(stored, TENANT, uuidOf(stored))
    }
    await sweeper.close()
    return folder.deleted
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

  it('deletes a tape that could not be deleted with the next sweep', async () => {
    const id = ids.next()
    writeFileSync(file, `${lineOf(id)}\n`)
    folder.tapes.add(uuidOf(id))
    let tries = 0
    const failing = {
      ...writer,
      delete: async () => {
        if (++tries === 1) throw new Error('EBUSY')
      },
    }
    let notify = () => {}
    const watched = {
      ...records,
      watch: (_topics: readonly string[], listen: () => void) => {
        notify = listen
        return () => {}
      },
    } as RecordStore
    const sweeper = new TapeSweeper({ projectDir, writer: failing, openRecords: async () => watched, log })
    await eventually(() => expect(warnings).deep.equal(['Tapes of deleted runs are not deleted yet: EBUSY']))
    notify()
    await sweeper.close()
    expect([tries, readFileSync(file, 'utf8').trim()]).deep.equal([2, ''])
  })

  it('notes a stored run where somebody removed the folder', async () => {
    const id = ids.next()
    writeFileSync(file, '')
    const sweeper = start()
    await begin(sweeper, uuidOf(id))()
    folder.rows.add(id)
    // It has read what was noted before.
    await eventually(() => expect(readdirSync(`${projectDir}/debug/tapes`)).deep.equal(['stored.txt']))
    rmSync(`${projectDir}/debug`, { recursive: true })
    sweeper.noteStored(id, TENANT, uuidOf(id))
    await sweeper.close()
    expect([readFileSync(file, 'utf8').trim(), warnings]).deep.equal([lineOf(id), []])
  })

  it('looks once for what is deleted while it looks, and leaves no watch behind', async () => {
    const id = ids.next()
    writeFileSync(file, `${lineOf(id)}\n`)
    const seen = { reads: 0, watches: 0 }
    let notify = () => {}
    const counting = {
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
    await new TapeSweeper({ projectDir, writer, openRecords: async () => counting, log }).close()
    expect(seen).deep.equal({ reads: 2, watches: 0 })
  })

  it('reads the lines around one that is damaged, whose tape stays', async () => {
    const [one, two, other] = [ids.next(), ids.next(), ids.next()]
    writeFileSync(file, `${lineOf(one)}\nM%${lineOf(other)}\n${lineOf(two)}\n`)
    expect(await serve([two])).deep.equal([uuidOf(one)])
    expect(warnings).deep.equal([])
  })

  const files = () => readdirSync(`${projectDir}/debug/tapes`).sort()
  const aside = () => files().filter((name) => name !== 'stored.txt')

  it('keeps the line of a run that goes on in another process, however many start meanwhile', async () => {
    const id = ids.next()
    const first = start()
    const end = begin(first, uuidOf(id))
    folder.rows.add(id)
    first.noteStored(id, TENANT, uuidOf(id))
    for (let count = 0; count < 2; count++) await Promise.all([start().close(), start().close()])
    await end()
    await first.close()
    expect({ deleted: folder.deleted, files: files() }).deep.equal({ deleted: [], files: ['stored.txt'] })
    expect(await serve([])).deep.equal([uuidOf(id)])
    expect({ lines: readFileSync(file, 'utf8').trim(), warnings }).deep.equal({ lines: '', warnings: [] })
  })

  it('keeps what another process notes while it looks, and what it has removed', async () => {
    const [one, two, three] = [ids.next(), ids.next(), ids.next()]
    writeFileSync(file, `${lineOf(one)}\n`)
    folder.rows.add(one)
    folder.onLook = () => {
      folder.onLook = () => {}
      appendFileSync(file, `\n${lineOf(two)}\n`)
      // It had opened the file before.
      for (const name of aside()) appendFileSync(`${projectDir}/debug/tapes/${name}`, `\n${lineOf(three)}\n`)
    }
    await start().close()
    folder.onLook = () => {
      for (const name of aside()) rmSync(`${projectDir}/debug/tapes/${name}`)
    }
    expect((await serve([one])).sort()).deep.equal([two, three].map(uuidOf).sort())
    folder.onLook = () => {}
    expect(await serve([])).deep.equal([uuidOf(one)])
    expect({ files: files(), warnings }).deep.equal({ files: ['stored.txt'], warnings: [] })
  })

  it('keeps all lines while the store fails, and where a start was cut off', async () => {
    const [one, two] = [ids.next(), ids.next()]
    writeFileSync(file, `${lineOf(one)}\n`)
    folder.onLook = () => {
      throw new Error('the store is away')
    }
    await start().close()
    expect(warnings).deep.equal(['Tapes of deleted runs are not deleted yet: the store is away'])
    expect(aside()).lengthOf(1)
    folder.onLook = () => {}
    writeFileSync(`${projectDir}/debug/tapes/stored.0197.txt`, `${lineOf(two)}\n`)
    expect(await serve([one])).deep.equal([uuidOf(two)])
    expect(await serve([])).deep.equal([uuidOf(one)])
    expect(files()).deep.equal(['stored.txt'])
  })

  it('says nothing of a file that another start has removed before it was read', async () => {
    const id = ids.next()
    writeFileSync(file, `${lineOf(id)}\n`)
    // It is listed, and not there.
    symlinkSync(`${projectDir}/gone`, `${projectDir}/debug/tapes/stored.0197.txt`)
    const deleted = await serve([])
    expect({ deleted, warnings }).deep.equal({ deleted: [uuidOf(id)], warnings: [] })
  })

  it('forgets a run whose tape was deleted before, once none can come', async () => {
    const [old, taped] = [ids.next(), ids.next()].map((id) => id.replace(/_.{4}/, '_0190')) as [string, string]
    folder.tapes.add(uuidOf(taped))
    writeFileSync(file, `${lineOf(old)}\n${lineOf(taped)}\n`)
    expect(await serve([old, taped])).deep.equal([])
    expect(readFileSync(file, 'utf8').trim()).equal(lineOf(taped))
  })

  it('reads what remains of a line with the name of a tape, of which no other tape goes', async () => {
    const [id, kept] = [ids.next(), ids.next()]
    const line = `${lineOf(id)} ${randomUUID()}`
    folder.tapes.add(uuidOf(kept))
    for (const length of [line.length - 1, lineOf(id).length + 2, lineOf(id).length + 1, lineOf(id).length, 40]) {
      writeFileSync(file, `${line.slice(0, length)}\n${lineOf(kept)}\n`)
      const deleted = await serve([kept])
      // A part of an id is no run.
      if (length === 40) expect(deleted).deep.equal([])
    }
    expect([...folder.tapes]).deep.equal([uuidOf(kept)])
  })

  it('deletes the tape of a run that is stored under another id, and those of the runs that it began', async () => {
    const [id, other] = [ids.next(), ids.next()]
    const [root, child, grandchild, late] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
    const sweeper = start()
    const ends = [
      // A share of the runs is recorded: these two are not.
      begin(sweeper, root, { hasTape: false }),
      begin(sweeper, child, { within: root, hasTape: false }),
      begin(sweeper, grandchild, { within: child }),
      begin(sweeper, uuidOf(other)),
    ]
    folder.rows = new Set([id, other])
    sweeper.noteStored(id, TENANT, root)
    sweeper.noteStored(other, TENANT, uuidOf(other))
    ends.push(begin(sweeper, late, { within: child }))
    for (const end of ends) await end()
    await sweeper.close()
    expect(await serve([id, other])).deep.equal([])
    expect((await serve([other])).sort()).deep.equal([grandchild, late].sort())
    expect([...folder.tapes]).deep.equal([uuidOf(other)])
  })

  it('knows a run in progress after any number of others, and those that wait after 9,000', async () => {
    const [long, waiting] = [randomUUID(), randomUUID()]
    const [id, kept] = [ids.next(), ids.next()]
    const sweeper = start()
    const end = begin(sweeper, long)
    const others = async (count: number) => {
      for (let index = 0; index < count; index++) await begin(sweeper, `${index}`)()
    }
    await others(10_000)
    await begin(sweeper, waiting)()
    await others(9000)
    folder.rows = new Set([id, kept])
    await end()
    sweeper.noteStored(id, TENANT, long)
    sweeper.noteStored(kept, TENANT, waiting)
    await sweeper.close()
    expect((await serve([])).sort()).deep.equal([long, waiting].sort())
  })
})
