import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { gunzipSync, gzipSync } from 'node:zlib'
import { HostError, type LLM, type LLMPart, messageOf, type RunEvent } from 'agent-host'
import { expect } from 'chai'
import { silentLog } from '../../../src/protocols/log.ts'
import { readTape, readTapeFile } from '../../../src/tape/file/read-tape.ts'
import { pathOfTape } from '../../../src/tape/file/tape-folder.ts'
import { readTapePiece } from '../../../src/tape/file/tape-pieces.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeLLM } from '../../support/fake-llm.ts'
import { listTapes, openRecordingHost, type RecordingHost, replay } from '../../support/tapes.ts'
import { makeSharedProject, removeFolder } from '../../support/temp-project.ts'
import { withThreads } from '../../support/threads.ts'

const TALKER = `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Talker', provides: [LLM], create: () => ({
  async *generate({ messages }) {
    const count = Number(messages.at(-1).content)
    for (let i = 0; i < count; i++) yield { type: 'text', text: i + ' '.repeat(100) }
    yield { type: 'finish', reason: 'stop' }
  } }) })`
const ECHO = { id: 'echo', modules: [{ id: 'echo', module: 'echo' }] }
const TALKING = {
  id: 'talking',
  modules: [
    { id: 'llm', module: 'talker' },
    { id: 'loop', module: 'orchestrator/tool-loop' },
  ],
}
const SECRET = 'the-key-of-a-vendor'
const PAGE = 4096
const SMALL_DISK = 64 * PAGE

describe('recording tapes', () => {
  let projectDir: string
  const open: RecordingHost[] = []

  beforeEach(async () => {
    projectDir = (await makeSharedProject({ 'modules/talker.ts': TALKER })).dir
  })

  afterEach(async () => {
    for (const each of open.splice(0)) await each.close()
    await removeFolder(projectDir)
  })

  async function record(options: Parameters<typeof openRecordingHost>[1] = {}): Promise<RecordingHost> {
    const recording = await openRecordingHost(projectDir, options)
    open.push(recording)
    await recording.host.register(ECHO)
    await recording.host.register(TALKING)
    return recording
  }

  it('writes one file a run, for its owner alone', async () => {
    const recording = await record()
    const { runId } = await recording.run('echo', 'hello')
    await recording.tape(runId)
    expect(listTapes(projectDir)).deep.equal([`${runId}.jsonl.gz`])
    expect(statSync(pathOfTape(projectDir, runId)).mode & 0o777).equal(0o600)
    expect(statSync(`${projectDir}/debug/tapes`).mode & 0o777).equal(0o700)
  })

  it('names the files of a folder that a module watches, such as that of a skill', async () => {
    const recording = await record()
    const skill = `${projectDir}/skills/refunds`
    mkdirSync(`${skill}/forms`, { recursive: true })
    writeFileSync(`${skill}/SKILL.md`, '---\nname: refunds\ndescription: How to refund.\n---\n\nAsk for the number.\n')
    writeFileSync(`${skill}/forms/letter.md`, 'Dear customer')
    await recording.host.register({
      id: 'clerk',
      modules: [
        { id: 'skills', module: 'tools/skills' },
        { id: 'echo', module: 'echo' },
      ],
    })
    const { runId } = await recording.run('clerk', 'hello')
    const tape = await recording.tape(runId)
    const files = ['skills/refunds/SKILL.md', 'skills/refunds/forms/letter.md']
    expect(tape.runs[0]?.head.files).include.keys(files)
    writeFileSync(`${skill}/forms/letter.md`, 'Dear friend')
    const { changedFiles } = await replay(tape, { projectDir })
    expect(changedFiles).deep.equal([{ file: 'skills/refunds/forms/letter.md', modules: [] }])
    // The other agents are still recorded.
    await recording.tape((await recording.run('echo', 'hello')).runId)
  })

  it('puts the name of a variable in the place of a secret, and hides keys of known forms', async () => {
    const recording = await record({ environment: { VENDOR_API_KEY: SECRET } })
    const { runId } = await recording.run('echo', `My key is ${SECRET}, and sk-abcdefghijklmnopqrstuvwx too`)
    await recording.tape(runId)
    const text = gunzipSync(readFileSync(pathOfTape(projectDir, runId))).toString()
    expect(text).include(`My key is \${VENDOR_API_KEY}, and [redacted] too`)
    expect(text).not.include(SECRET).and.not.include('sk-abc')
  })

  it('has no key that stands in an agent file itself', async () => {
    const recording = await record()
    const config = { base_url: 'http://127.0.0.1:9/v1', model: 'm', api_key: 'a key of our own' }
    await recording.host.register({
      id: 'keyed',
      modules: [
        { id: 'llm', module: 'llm/openai-compatible', config },
        { id: 'loop', module: 'orchestrator/tool-loop' },
      ],
    })
    const { runId } = await recording.run('keyed', 'go', {
      overrides: { llm: fakeLLM([{ type: 'text', text: 'done' }]) },
    })
    const [run] = (await recording.tape(runId)).runs
    expect(run?.head.agent.definition.modules).deep.include({
      id: 'llm',
      module: 'llm/openai-compatible',
      config: { ...config, api_key: '[redacted]' },
    })
  })

  it('hides a secret that a model streams in pieces; other pieces stay as they are', async () => {
    const recording = await record({ environment: { VENDOR_API_KEY: SECRET } })
    const pieces = [SECRET.slice(0, 5), SECRET.slice(5), ' "and', ' more"']
    const parts = pieces.map((text): LLMPart => ({ type: 'text', text }))
    const reasoning: LLMPart = { type: 'reasoning', text: `thinking of ${SECRET}, openly` }
    const { runId } = await recording.run('talking', 'go', {
      overrides: { llm: fakeLLM([reasoning, { type: 'reasoning', text: ' yes' }, ...parts]) },
    })
    const [run] = (await recording.tape(runId)).runs
    const kept = run?.calls.at(-1)?.steps.flatMap((step) => {
      const line = step.read()
      return line.type === 'part' ? [line.value] : []
    })
    expect(kept).deep.equal([
      { type: 'reasoning', text: `thinking of \${VENDOR_API_KEY}, openly` },
      { type: 'reasoning', text: ' yes' },
      { type: 'text', text: '${VENDOR_API_KEY} "and more"' },
      { type: 'text', text: '' },
      { type: 'text', text: '' },
      { type: 'text', text: '' },
    ])
    expect(run?.end.text).equal(`\${VENDOR_API_KEY} "and more"`)
  })

  for (const size of [1, 2, 7]) {
    it(`hides a secret in pieces of ${size} characters, of text and of reasoning, also where a tape is written in parts`, async () => {
      const recording = await record({ environment: { VENDOR_API_KEY: SECRET } })
      const said = `${SECRET} `.repeat(350 * size)
      const pieces = said.match(new RegExp(`.{1,${size}}`, 'g')) ?? []
      const parts = pieces.flatMap((text): LLMPart[] => [
        { text, type: 'text' },
        { type: 'reasoning', text, blockId: 'a' },
      ])
      const llm: LLM = {
        async *generate() {
          for (const [index, part] of parts.entries()) {
            // Hands over what has come: each cut lies elsewhere within a secret.
            if (index % 997 === 0) await recording.writer.finish()
            yield part
          }
        },
      }
      const { runId, result } = await recording.run('talking', 'go', { overrides: { llm } })
      expect(result?.text).equal(said)
      const [run] = (await recording.tape(runId)).runs
      const text = gunzipSync(readFileSync(pathOfTape(projectDir, runId))).toString()
      expect(text.length).greaterThan(512 * 1024)
      expect(text).not.include(SECRET)
      const streamed = { text: '', reasoning: '' }
      for (const step of run?.calls.at(-1)?.steps ?? []) {
        const { value } = step.read() as { value?: { type: 'text' | 'reasoning'; text: string } }
        if (value) streamed[value.type] += value.text
      }
      const hidden = said.replaceAll(SECRET, '${VENDOR_API_KEY}')
      expect([streamed.text, streamed.reasoning]).deep.equal([hidden, hidden])
    })
  }

  it('records the given share of the runs, and none for 0', async () => {
    const recording = await record({ share: 0 })
    await recording.run('echo', 'hello')
    await recording.writer.finish()
    expect(listTapes(projectDir)).deep.equal([])
  })

  it('writes a long run in parts, and replays it', async () => {
    const recording = await record()
    const { runId, events } = await recording.run('talking', '12000')
    const tape = await recording.tape(runId)
    expect(tape.runs[0]?.calls.at(-1)?.steps).lengthOf(12_002)
    expect((await replay(tape, { projectDir })).events).deep.equal(events)
  })

  it('keeps the tapes within their limit: the oldest go', async () => {
    const recording = await record({ maxBytes: 8000 })
    const ids: string[] = []
    for (let i = 0; i < 30; i++) ids.push((await recording.run('echo', `message ${i}`)).runId)
    await recording.writer.finish()
    const kept = listTapes(projectDir)
    expect(kept.length).lessThan(30)
    expect(kept)
      .include(`${ids.at(-1)}.jsonl.gz`)
      .and.not.include(`${ids[0]}.jsonl.gz`)
  })

  it('marks a tape that has no room as incomplete; the run goes on, and a replay refuses it', async () => {
    const recording = await record({ maxBytes: 12_000 })
    const { runId, result } = await recording.run('talking', '9000')
    expect(result?.status).equal('completed')
    const error = await recording.tape(runId).catch((thrown: unknown) => thrown)
    expect(messageOf(error)).include('is incomplete, and cannot be replayed: it is larger than --debug-max-mb.')
  })

  it('warns of tapes that are lost because their thread has ended; runs go on', async () => {
    const warnings: string[] = []
    const recording = await record({ log: { ...silentLog, warn: (message: string) => void warnings.push(message) } })
    await recording.writer.close()
    const { runId, result } = await recording.run('echo', 'hello')
    expect(result?.text).equal('hello')
    await eventually(() =>
      expect(warnings).deep.equal([`The tape of run ${runId} is incomplete (1 in all): it was closed.`]),
    )
  })

  it('goes on with another thread when its own ends: a tape under way is incomplete, later ones are whole', async () => {
    await withThreads(async (threads) => {
      const warnings: string[] = []
      const recording = await record({ log: { ...silentLog, warn: (message: string) => void warnings.push(message) } })
      await recording.tape((await recording.run('echo', 'one')).runId)
      let deltas = 0
      const onEvent = async ({ type }: RunEvent) => {
        if (type !== 'text' || ++deltas !== 9000) return
        // Hands over its first lines.
        await recording.writer.finish()
        await threads.at(-1)?.terminate()
      }
      const { runId, result } = await recording.run('talking', '12000', { onEvent })
      expect(result?.status).equal('completed')
      const error = await recording.tape(runId).catch((thrown: unknown) => thrown)
      expect(messageOf(error)).include('is incomplete, and cannot be replayed: the thread that wrote it ended.')
      const { runId: later, events } = await recording.run('echo', 'two')
      expect((await replay(await recording.tape(later), { projectDir })).events).deep.equal(events)
      expect(warnings).deep.equal([
        'The thread of the tapes ended, and another one is started; runs now have no whole tape: it exited with 1',
        `The tape of run ${runId} is incomplete (1 in all): the thread that wrote it ended.`,
      ])
    })
  })

  it('deletes tapes also when their thread ends at that, and for good', async () => {
    await withThreads(async (threads) => {
      const recording = await record()
      const { runId } = await recording.run('echo', 'one')
      await recording.tape(runId)
      let release = () => {}
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      const id = 'b0000000-0000-4000-8000-000000000000'
      const running = recording.run('talking', '2', { runId: id, onEvent: () => released })
      const ended = threads.at(-1)?.terminate()
      await recording.writer.delete([runId, id])
      await ended
      release()
      await running
      await recording.writer.finish()
      expect(listTapes(projectDir)).deep.equal([])
    })
  })

  it('leaves files alone that have no name of a run, and gives no tape through a link', async () => {
    mkdirSync(`${projectDir}/debug/tapes`, { recursive: true })
    writeFileSync(`${projectDir}/debug/tapes/%zz.jsonl.gz`, 'no tape')
    writeFileSync(`${projectDir}/elsewhere`, 'a secret')
    const recording = await record()
    const { runId } = await recording.run('echo', 'hello')
    await recording.tape(runId)
    expect(listTapes(projectDir)).include('%zz.jsonl.gz')
    symlinkSync(`${projectDir}/elsewhere`, pathOfTape(projectDir, 'linked'))
    const asked = { offset: 0, maxBytes: 100 }
    expect(await readTapePiece(projectDir, 'linked', asked)).equal(undefined)
    expect(await readTapePiece(projectDir, '../../elsewhere', asked)).equal(undefined)
    expect((await readTapePiece(projectDir, runId, asked))?.bytes).lengthOf(100)
  })

  it('deletes a tape, also one whose run has not ended', async () => {
    const recording = await record()
    const { runId } = await recording.run('echo', 'one')
    recording.writer.delete([runId])
    const running = recording.run('echo', 'two', { runId: 'b0000000-0000-4000-8000-000000000000' })
    recording.writer.delete(['b0000000-0000-4000-8000-000000000000'])
    await running
    await recording.writer.finish()
    expect(listTapes(projectDir)).deep.equal([])
  })

  it('deletes with a tape what a process that was killed had written of it', async () => {
    mkdirSync(`${projectDir}/debug/tapes`, { recursive: true })
    const partOf = (runId: string) => `${runId}.jsonl.gz.4711-1-1.part`
    for (const runId of ['cut-off', 'cut-off-too'])
      writeFileSync(`${projectDir}/debug/tapes/${partOf(runId)}`, 'what the user said')
    const recording = await record()
    await recording.writer.delete(['cut-off'])
    expect(listTapes(projectDir)).deep.equal([partOf('cut-off-too')])
  })

  it('says why a tape cannot be deleted, deletes the others, and goes on', async () => {
    const recording = await record()
    const { runId } = await recording.run('echo', 'one')
    await recording.tape(runId)
    mkdirSync(pathOfTape(projectDir, 'a-folder'))
    const error = await recording.writer.delete(['a-folder', runId]).catch((thrown: unknown) => thrown)
    expect(messageOf(error)).include('a-folder')
    expect(listTapes(projectDir)).deep.equal(['a-folder.jsonl.gz'])
    const { runId: later, result } = await recording.run('echo', 'two')
    expect((await recording.tape(later)).runs[0]?.end.text).equal(result?.text)
  })

  it('goes on in a new folder when somebody removes the folder', async () => {
    const recording = await record()
    await recording.tape((await recording.run('echo', 'one')).runId)
    rmSync(`${projectDir}/debug`, { recursive: true })
    for (const [agent, input] of [
      ['echo', 'two'],
      ['talking', '9000'],
    ] as const) {
      const { runId, result } = await recording.run(agent, input)
      expect((await recording.tape(runId)).runs[0]?.end.text).equal(result?.text)
    }
    expect(statSync(`${projectDir}/debug/tapes`).mode & 0o777).equal(0o700)
  })

  it('forgets the heads of agents that are gone, in process and thread', async () => {
    const { postMessage } = Worker.prototype
    const messages: { kind: string; key?: number }[] = []
    Worker.prototype.postMessage = function (message, transfer) {
      messages.push(message)
      postMessage.call(this, message, transfer as never)
    }
    try {
      const recording = await record()
      for (let times = 0; times < 3; times++) {
        await recording.host.register({ ...ECHO, id: `gone-${times}` })
        await recording.tape((await recording.run(`gone-${times}`, 'hello')).runId)
        recording.host.unregister(`gone-${times}`)
      }
      setFlagsFromString('--expose-gc')
      await eventually(() => {
        runInNewContext('gc')()
        expect(messages.filter(({ kind }) => kind === 'forget').map(({ key }) => key))
          .include(1)
          .and.include(2)
      })
      // One that is still there is still known.
      await recording.tape((await recording.run('echo', 'hello')).runId)
      await recording.tape((await recording.run('echo', 'again')).runId)
    } finally {
      Worker.prototype.postMessage = postMessage
    }
  })

  it('keeps one whole tape of a run that two processes record at once', async () => {
    const [one, other] = [await record(), await record()]
    const runId = 'c0000000-0000-4000-8000-000000000000'
    const runs = await Promise.all([one, other].map((each, n) => each.run('talking', String(5000 + n), { runId })))
    await one.writer.finish()
    const { end } = (await other.tape(runId)).runs[0] ?? {}
    expect(runs.map(({ result }) => result?.text)).include(end?.text)
    expect(listTapes(projectDir)).deep.equal([`${runId}.jsonl.gz`])
  })

  it('keeps the tape that ends last of two of one run', async () => {
    const recording = await record()
    const runId = 'a0000000-0000-4000-8000-000000000000'
    await recording.run('echo', 'one', { runId })
    await recording.run('echo', 'two', { runId })
    expect((await recording.tape(runId)).runs[0]?.end.text).equal('two')
    expect(listTapes(projectDir)).lengthOf(1)
  })
})

/** Mounts a small disk; false where that is not allowed. */
function mountSmallDisk(folder: string): boolean {
  mkdirSync(folder, { recursive: true })
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_DISK}`, 'tmpfs', folder]).status === 0
}

describe('recording on a full disk (needs root on Linux, which may mount one)', () => {
  let projectDir: string
  let folder: string

  before(async function () {
    projectDir = (await makeSharedProject({ 'modules/talker.ts': TALKER })).dir
    folder = `${projectDir}/debug/tapes`
    if (mountSmallDisk(folder)) return
    await removeFolder(projectDir)
    // Only root mounts a disk, and only on Linux.
    this.skip()
  })

  after(async () => {
    spawnSync('umount', [folder])
    await removeFolder(projectDir)
  })

  it('lets runs go on; their tapes are marked incomplete, warned of, and not replayed; room makes the next one whole', async () => {
    const warnings: string[] = []
    const log = { ...silentLog, warn: (message: string) => void warnings.push(message) }
    const recording = await openRecordingHost(projectDir, { log })
    const refusalOf = (runId: string) =>
      recording.tape(runId).then(
        () => undefined,
        (error: unknown) => messageOf(error),
      )
    try {
      await recording.host.register(ECHO)
      await recording.host.register(TALKING)
      writeFileSync(`${folder}/ballast`, Buffer.alloc(SMALL_DISK - 2 * PAGE))
      const text = randomBytes(4 * PAGE).toString('base64')
      const short = await recording.run('echo', text)
      expect(short.result).include({ status: 'completed', text })
      expect(await refusalOf(short.runId)).match(/ is incomplete, and cannot be replayed: ENOSPC/)
      const long = await recording.run('talking', '20000')
      expect(long.result?.status).equal('completed')
      expect(await refusalOf(long.runId)).match(/ is (incomplete, .*ENOSPC|cut off .* or the disk was full)/)
      expect(warnings).lengthOf(1)
      expect(warnings[0]).match(/^The tape of run .* is incomplete \(1 in all\): ENOSPC/)
      rmSync(`${folder}/ballast`)
      const later = await recording.run('echo', text)
      expect((await replay(await recording.tape(later.runId), { projectDir })).events).deep.equal(later.events)
    } finally {
      await recording.close()
    }
  })
})

describe('reading a tape', () => {
  let projectDir: string
  let lines: string[]

  before(async () => {
    projectDir = (await makeSharedProject({ 'modules/talker.ts': TALKER })).dir
    const recording = await openRecordingHost(projectDir)
    await recording.host.register(TALKING)
    const { runId } = await recording.run('talking', '1')
    await recording.tape(runId)
    await recording.close()
    lines = gunzipSync(readFileSync(pathOfTape(projectDir, runId)))
      .toString()
      .trimEnd()
      .split('\n')
  })

  after(() => removeFolder(projectDir))

  const refusalOf = async (bytes: Uint8Array): Promise<string> => {
    try {
      await readTape(bytes, 't')
      return 'none'
    } catch (error) {
      expect(error).instanceOf(HostError).property('suggestions').not.empty
      return messageOf(error)
    }
  }
  const failureOf = (reading: Promise<unknown>) => reading.then(() => 'none', messageOf)
  const pack = (kept: readonly string[]) => gzipSync(`${kept.join('\n')}\n`)

  it('takes one that is not compressed', async () => {
    expect(await refusalOf(Buffer.from(`${lines.join('\n')}\n`))).equal('none')
  })

  it('refuses what is none', async () => {
    expect(await refusalOf(Buffer.from('hello\n'))).equal('t is not a tape: it does not begin with a head.')
    expect(await refusalOf(Buffer.from('{"type":"turn"}\n'))).equal('t is not a tape: it does not begin with a head.')
    expect(await refusalOf(Buffer.alloc(0))).match(/^The tape t is empty/)
    expect(await refusalOf(Buffer.from([0x1f, 0x8b, 1, 2, 3, 4, 5, 6, 7, 8, 9]))).match(/^The tape t is damaged/)
    expect(await failureOf(readTapeFile('/nowhere/t.jsonl.gz', 't'))).match(/^The tape t cannot be read: ENOENT/)
  })

  it('refuses one that is cut off, between lines and within its bytes', async () => {
    expect(await refusalOf(pack(lines.slice(0, -1)))).match(
      new RegExp(`^The tape t is cut off after line ${lines.length - 1}`),
    )
    const whole = pack(lines)
    expect(await refusalOf(whole.subarray(0, whole.length - 30))).match(/^The tape t is cut off after line \d+/)
  })

  it('refuses one that was edited so that it no longer fits together', async () => {
    const without = lines.filter((line) => !line.startsWith('{"type":"call","call":1,'))
    expect(await refusalOf(pack(without))).match(/^The tape t does not fit together at line \d+/)
    const broken = lines.map((line) => (line.startsWith('{"type":"call","call":1,') ? '{"type":' : line))
    expect(await refusalOf(pack(broken))).match(/^The tape t is damaged: line \d is not a line of a tape\.$/)
  })

  const others = (type: string, change: object) =>
    pack(
      lines.map((line) =>
        line.startsWith(`{"type":"${type}",`) ? JSON.stringify({ ...JSON.parse(line), ...change }) : line,
      ),
    )
  const misfit = (reason: string) => RegExp(`^The tape t does not fit together at line \\d+: ${reason} expected\\.$`)

  it('refuses one whose names are more than a line of text', async () => {
    const { agent } = JSON.parse(lines[0] ?? '')
    for (const id of ['a\nprocess.exit()', '../a', '', 5, null])
      expect(await refusalOf(others('head', { agent: { ...agent, id } }))).match(misfit('an agent with its modules is'))
    for (const run_id of ['a\nprocess.exit()', 'a\u2028b', 'a\u202eb', '', 5])
      expect(await refusalOf(others('turn', { run_id }))).match(misfit('the id of the run is'))
    for (const name of ['module', 'caller', 'protocol', 'method'])
      expect(await refusalOf(others('call', { [name]: 'a\nb' }))).match(misfit('the names of module and method are'))
  })

  it('refuses one whose turn has no messages, or lists of something else', async () => {
    const messages = [{ role: 'user', content: 'hi' }]
    for (const turn of [null, {}, { messages: 'hi' }, { messages: [null] }, { messages: [{ $undefined: true }] }])
      expect(await refusalOf(others('turn', { turn }))).match(misfit('a turn with its messages is'))
    for (const name of ['pending', 'answers', 'variant'])
      for (const list of [5, [null], [{}]])
        expect(await refusalOf(others('turn', { turn: { messages, [name]: list } }))).match(
          misfit('a turn with its messages is'),
        )
  })

  it('refuses one whose calls are not within an earlier one', async () => {
    for (const within of [1, 99, -1, 0.5, 'x', {}])
      expect(await refusalOf(others('call', { within }))).match(misfit('a call within an earlier one is'))
  })

  it('refuses one of a newer version', async () => {
    const [head = '{}', ...rest] = lines
    const newer = JSON.stringify({ ...JSON.parse(head), tape: 2, version: '9.0.0' })
    expect(await refusalOf(pack([newer, ...rest]))).equal(
      'The tape t was recorded by agent-host 9.0.0, in format 2; this version reads up to 1.',
    )
  })

  it('is damaged where the file cannot be read as one', async () => {
    const path = `${projectDir}/t.jsonl`
    writeFileSync(path, lines.join('\n'))
    expect(await failureOf(readTapeFile(path, 't'))).match(/^The tape t is cut off/)
  })
})
