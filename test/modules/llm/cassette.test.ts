import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { LLM, LLMPart, LLMRequest } from 'agent-host'
import { expect } from 'chai'
import cassette from '../../../modules/llm/cassette.ts'
import { pathOfTape } from '../../../src/tape/file/tape-folder.ts'
import { collect, describeLLM, textOf } from '../../suites/llm-suite.ts'
import { failure } from '../../support/connect-model.ts'
import { fakeLLM, saying } from '../../support/fake-llm.ts'
import { makeContext, says } from '../../support/fake-run.ts'
import { openRecordingHost } from '../../support/tapes.ts'
import { makeProject } from '../../support/temp-project.ts'

const asks = { messages: [says('hi')] }
const answer: LLMPart[] = [
  { type: 'reasoning', text: 'hm' },
  { type: 'text', text: 'one' },
  { type: 'tool_call', call: { id: 'c1', name: 't', arguments: { n: 1 } } },
  { type: 'usage', usage: { inputTokens: 3 } },
  { type: 'finish', reason: 'tool_calls' },
]

async function makeCassette() {
  const { dir } = await makeProject({})
  const file = join(dir, 'tests/hello.jsonl')
  const insert = (
    llm: LLM | undefined,
    mode: 'replay' | 'record' | 'auto' = 'auto',
    environment: Record<string, string> = {},
  ) =>
    cassette.create({ llm }, { file: 'tests/hello.jsonl', mode }, makeContext({ projectDir: dir, environment })) as LLM
  return { dir, file, insert }
}

type Line = Readonly<{ type: string; call?: number; arguments?: readonly unknown[] }>
const parseLines = (text: string): Line[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
const readLines = async (file: string) => parseLines(await readFile(file, 'utf8'))
const readTape = async (file: string) => parseLines(gunzipSync(await readFile(file)).toString())

describe('llm/cassette', () => {
  describe('recording', () => {
    describeLLM(async () => (await makeCassette()).insert(fakeLLM(saying('one', ' two')), 'record'))
  })
  describe('replaying', () => {
    describeLLM(async () => {
      const { insert } = await makeCassette()
      await collect(insert(fakeLLM(saying('one', ' two'))), { messages: [says('hello')] })
      return insert(undefined, 'replay')
    })
  })

  it('records an answer as the lines of a tape, and replays it without a model', async () => {
    const { file, insert } = await makeCassette()
    expect(await collect(insert(fakeLLM(answer)), asks)).to.deep.equal(answer)
    expect((await readLines(file)).map((line) => ({ ...line, ms: 0 }))).to.deep.equal([
      {
        type: 'call',
        call: 1,
        within: null,
        ms: 0,
        module: 'module',
        caller: '',
        protocol: 'LLM',
        method: 'generate',
        arguments: [asks],
      },
      ...answer.map((value) => ({ type: 'part', call: 1, ms: 0, value })),
      { type: 'result', call: 1, ms: 0, shape: 'stream', value: null },
    ])
    expect(await collect(insert(undefined, 'replay'), asks)).to.deep.equal(answer)
  })

  it('plays files of earlier versions, and adds to them', async () => {
    const { file, insert } = await makeCassette()
    const data = Uint8Array.from([1])
    const picture: LLMRequest = {
      messages: [{ role: 'user', content: 'This? Key wk-12345678.', attachments: [{ mediaType: 'image/png', data }] }],
    }
    // As version 0.1 wrote it.
    const old =
      '{"request":{"messages":[{"role":"user","content":"This? Key [redacted].","attachments":[{"mediaType":"image/png","sha256":"4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a"}]}]},"parts":[{"type":"text","text":"a cat"},{"type":"finish","reason":"stop"}]}'
    await collect(insert(fakeLLM(saying('x'))), asks)
    await writeFile(file, `${old}\n`)
    const environment = { WEATHER_API_KEY: 'wk-12345678' }
    expect(textOf(await collect(insert(undefined, 'replay', environment), picture))).to.equal('a cat')
    await collect(insert(fakeLLM(saying('new')), 'auto', environment), asks)
    expect((await readFile(file, 'utf8')).split('\n')[0]).to.equal(old)
    const player = insert(undefined, 'replay', environment)
    expect(textOf(await collect(player, asks))).to.equal('new')
    expect(textOf(await collect(player, picture))).to.equal('a cat')
    await collect(insert(fakeLLM(saying('a dog')), 'record', environment), picture)
    expect(await readFile(file, 'utf8')).not.to.contain('a cat')
  })

  it('plays the tape of a run, and does not add to it', async () => {
    const { dir, file, insert } = await makeCassette()
    const recording = await openRecordingHost(dir)
    try {
      const id = 'hello'
      const llm = { id: 'llm', module: 'llm/mock', config: { replies: ['Recorded.'] } }
      await recording.host.register({ id, modules: [llm, { id: 'loop', module: 'orchestrator/tool-loop' }] })
      const { runId } = await recording.run(id, 'hi')
      await recording.writer.finish()
      await mkdir(join(dir, 'tests'))
      await copyFile(pathOfTape(dir, runId), file)
    } finally {
      await recording.close()
    }
    const [{ arguments: [asked] = [] } = {}] = (await readTape(file)).filter(({ type }) => type === 'call')
    expect(textOf(await collect(insert(undefined, 'replay'), asked as LLMRequest))).to.equal('Recorded.')
    expect(await failure(collect(insert(fakeLLM(saying('x'))), { messages: [says('other')] }))).to.equal(
      `The cassette ${file} is the tape of a run: recordings need a file of their own.`,
    )
  })

  it('calls the model only for requests without a recording', async () => {
    const { insert } = await makeCassette()
    const llm = fakeLLM(saying('first'), saying('second'))
    const player = insert(llm)
    expect(textOf(await collect(player, asks))).to.equal('first')
    expect(textOf(await collect(player, { messages: [says('other')] }))).to.equal('second')
    expect(textOf(await collect(player, asks))).to.equal('first')
    expect(llm.requests).to.have.lengthOf(2)
  })

  it('re-records if the environment says so, and keeps unused recordings', async () => {
    const { insert } = await makeCassette()
    await collect(insert(fakeLLM(saying('old'))), asks)
    await collect(insert(fakeLLM(saying('other'))), { messages: [says('other')] })
    const update = insert(fakeLLM(saying('new'), saying('newer')), 'replay', { AGENT_HOST_CASSETTE: 'update' })
    await collect(update, asks)
    await collect(update, asks)
    const player = insert(undefined, 'replay')
    const texts: string[] = []
    for (const request of [asks, asks, asks, { messages: [says('other')] }]) {
      texts.push(textOf(await collect(player, request)))
    }
    expect(texts).to.deep.equal(['new', 'newer', 'newer', 'other'])
    expect(() => insert(undefined, 'auto', { AGENT_HOST_CASSETTE: 'yes' })).to.throw(
      "AGENT_HOST_CASSETTE is 'yes'; it may be replay, update or auto.",
    )
  })

  it('shows the difference from the nearest recording, and how to record', async () => {
    const { insert } = await makeCassette()
    expect(await failure(collect(insert(undefined, 'replay'), asks))).to.equal(
      'The cassette tests/hello.jsonl has no recording. To record it, run once with AGENT_HOST_CASSETTE=update and a key.',
    )
    const recorder = insert(fakeLLM(saying('x')))
    const long = `${'word '.repeat(40)}end`
    const about = (content: string, more: Partial<LLMRequest> = {}) => ({
      messages: [{ role: 'system' as const, content }, says('hi')],
      ...more,
    })
    await collect(recorder, about(long, { temperature: 0.2 }))
    await collect(recorder, { messages: [says('far away')] })
    expect(await failure(collect(insert(undefined, 'replay'), about(`${long}ing`, { maxOutputTokens: 5 })))).to.equal(
      [
        'The cassette tests/hello.jsonl has no recording of this request. It differs from the nearest of 2:',
        `  messages[0].content: recorded … ${'word '.repeat(11)}end", asked …rd ${'word '.repeat(10)}ending"`,
        '  temperature: recorded 0.2, asked nothing',
        '  maxOutputTokens: recorded nothing, asked 5',
        'To record it, run once with AGENT_HOST_CASSETTE=update and a key.',
      ].join('\n'),
    )
  })

  it('matches requests by content: any order of fields, but the same bytes of files', async () => {
    const { insert } = await makeCassette()
    const withFile = (byte: number): LLMRequest => ({
      temperature: 0,
      messages: [
        {
          attachments: [{ mediaType: 'image/png', data: Uint8Array.from([byte]) }],
          content: 'This?',
          role: 'user',
        },
      ],
    })
    await collect(insert(fakeLLM(saying('a cat'))), withFile(1))
    const player = insert(undefined, 'replay')
    const { messages } = withFile(1)
    const [message] = messages
    const reordered = { messages: [{ role: 'user', content: 'This?', ...message }], temperature: 0 } as LLMRequest
    expect(textOf(await collect(player, reordered))).to.equal('a cat')
    expect(await failure(collect(player, withFile(2)))).to.match(
      /messages\[0\]\.attachments\[0\]\.data\.\$bytes: recorded/,
    )
  })

  it('records no secrets of the environment', async () => {
    const { file, insert } = await makeCassette()
    const environment = { WEATHER_API_KEY: 'wk-12345678', HOME: '/home/somebody' }
    const llm = fakeLLM(saying('it is wk-12345678 in /home/somebody'))
    const request = { messages: [says('my key is wk-12345678')] }
    expect(textOf(await collect(insert(llm, 'auto', environment), request))).to.contain('wk-12345678')
    const text = await readFile(file, 'utf8')
    expect(text).not.to.contain('wk-12345678')
    expect(text).to.contain('my key is ${WEATHER_API_KEY}').and.to.contain('it is ${WEATHER_API_KEY} in /home/somebody')
    expect(textOf(await collect(insert(undefined, 'replay', environment), request))).to.contain('${WEATHER_API_KEY}')
  })

  it('records no secret that comes in pieces', async () => {
    const { file, insert } = await makeCassette()
    const environment = { WEATHER_API_KEY: 'wk-12345678' }
    await collect(insert(fakeLLM(saying('it is wk-', '123456', '78, I think')), 'auto', environment), asks)
    expect(await readFile(file, 'utf8'))
      .to.contain('it is ${WEATHER_API_KEY}, I think')
      .and.not.contain('123456')
    expect(textOf(await collect(insert(undefined, 'replay', environment), asks))).to.equal(
      'it is ${WEATHER_API_KEY}, I think',
    )
  })

  it('records no failed answers, and all parallel ones', async () => {
    const { dir, file, insert } = await makeCassette()
    const broken = insert(fakeLLM([{ type: 'text', text: 'a' }, new Error('broke off')]))
    expect(await failure(collect(broken, asks))).to.equal('broke off')
    expect(await readdir(dir)).not.to.include('tests')
    const recorder = insert(fakeLLM(saying('x')))
    await Promise.all(Array.from({ length: 20 }, (_, n) => collect(recorder, { messages: [says(`question ${n}`)] })))
    const calls = (await readLines(file)).flatMap(({ type, call }) => (type === 'call' ? [call] : []))
    expect(calls).to.deep.equal(Array.from({ length: 20 }, (_, n) => n + 1))
    expect(await readdir(join(dir, 'tests'))).to.deep.equal(['hello.jsonl'])
  })

  it('names the line of a file that is not a cassette', async () => {
    const { dir, file, insert } = await makeCassette()
    await collect(insert(fakeLLM(saying('x'))), asks)
    await writeFile(file, `${await readFile(file, 'utf8')}{"request":`)
    expect(await failure(collect(insert(undefined, 'replay'), asks))).to.match(/hello\.jsonl:5 is no JSON: /)
    await writeFile(file, '{"request":1}\n')
    expect(await failure(collect(insert(undefined, 'replay'), asks))).to.equal(
      `The cassette ${join(dir, 'tests/hello.jsonl')}:1 is no recording: it needs 'request' and 'parts'.`,
    )
    await writeFile(file, '{"type":"part","call":1,"ms":0,"value":1}\n')
    expect(await failure(collect(insert(undefined, 'replay'), asks))).to.equal(
      `The cassette ${join(dir, 'tests/hello.jsonl')}:1 does not fit: there is no call 1 before it.`,
    )
    await writeFile(file, '{"tune":1}\n')
    expect(await failure(collect(insert(undefined, 'replay'), asks))).to.equal(
      `The cassette ${join(dir, 'tests/hello.jsonl')}:1 is no line of a tape.`,
    )
  })

  it('reports a missing model when it has to record', async () => {
    const { insert } = await makeCassette()
    expect(await failure(collect(insert(undefined), asks))).to.equal(
      "Module 'module' (llm/cassette) has no model to record. Add one that provides LLM.",
    )
  })
})
