import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { HostError } from 'agent-host'
import { expect } from 'chai'
import { parse } from 'yaml'
import { readTape } from '../../../src/tape/file/read-tape.ts'
import { pathOfTape } from '../../../src/tape/file/tape-folder.ts'
import { counted, SHOP } from '../../support/counting-shop.ts'
import { openRecordingHost, replay } from '../../support/tapes.ts'
import { makeSharedProject, removeFolder, type TempProject } from '../../support/temp-project.ts'

const EDITS = 150
const SEED = 77
/** Values that stand where others are expected. */
const NASTY: readonly unknown[] = [
  null,
  -1,
  1e308,
  '',
  '../../x',
  [],
  { $bytes: 'none' },
  { $date: 'x' },
  { $bigint: 'zz' },
  { $url: '::' },
  { $error: 5 },
  { $map: [1] },
  { $plain: 3 },
  { $floats: '!!!' },
  JSON.parse('{"__proto__":{"polluted":true}}'),
]

describe('edited tapes', () => {
  let project: TempProject
  let lines: string[]
  let state = SEED
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state % below
  }

  before(async () => {
    project = await makeSharedProject(SHOP)
    const recording = await openRecordingHost(project.dir)
    await recording.host.register(parse(await project.read('agents/shop.yml')))
    const { runId } = await recording.run('shop', 'Where is A1?')
    await recording.tape(runId)
    await recording.close()
    lines = gunzipSync(readFileSync(pathOfTape(project.dir, runId)))
      .toString()
      .trimEnd()
      .split('\n')
  })

  after(() => removeFolder(project.dir))

  /** The same value with another one somewhere in it, or without one of its fields. */
  function edit(value: unknown): unknown {
    const keys = typeof value === 'object' && value !== null ? Object.keys(value) : []
    const key = keys[random(Math.max(keys.length, 1))]
    if (key === undefined || random(6) === 0) return NASTY[random(NASTY.length)]
    const fields = value as Record<string, unknown>
    if (Array.isArray(value)) return value.map((item, index) => (String(index) === key ? edit(item) : item))
    const { [key]: chosen, ...others } = fields
    return random(5) === 0 ? others : { ...others, [key]: edit(chosen) }
  }

  it(`are refused, or differ, and execute nothing: ${EDITS} edits of seed ${SEED}`, async () => {
    const done = counted('deskDone').length
    const outcomes = new Set<string>()
    for (let count = 0; count < EDITS; count++) {
      const at = random(lines.length)
      const line = lines[at] ?? ''
      const edited = lines.with(at, random(4) === 0 ? `${line}\n${line}` : JSON.stringify(edit(JSON.parse(line))))
      try {
        const tape = await readTape(Buffer.from(`${edited.join('\n')}\n`), 't')
        const { divergence } = await replay(tape, { projectDir: project.dir })
        outcomes.add(divergence ? 'differs' : 'the same')
      } catch (error) {
        if (!(error instanceof HostError)) throw new Error(`Line ${at} edited to ${edited[at]}`, { cause: error })
        expect(error.code).equal('TAPE_INVALID')
        outcomes.add('refused')
      }
    }
    expect([...outcomes].sort()).deep.equal(['differs', 'refused', 'the same'])
    expect(counted('deskDone').length).equal(done)
    expect({}).not.property('polluted')
    // 150 replays: half a minute, and more beside other work.
  }).timeout(180_000)
})
