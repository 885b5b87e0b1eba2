import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import {
  type Attachment,
  defineModule,
  LLM,
  type LLMPart,
  type LLMRequest,
  makeRedact,
  optional,
  Type,
} from 'agent-host'
import { CassetteFile, type Recording } from './lib/cassette-file.ts'
import { differences } from './lib/differences.ts'

const HOW_TO_RECORD = 'To record it, run once with AGENT_HOST_CASSETTE=update and a key.'

export default defineModule({
  name: 'CassetteLLM',
  description: 'Records the answers of another model in a file and replays them, for tests without network or key.',
  provides: [LLM],
  uses: { llm: optional(LLM) },
  scope: 'agent',
  attachments: ['*/*'],
  config: Type.Object({
    file: Type.String({ minLength: 1, description: 'File of the recordings (JSON lines), relative to the project.' }),
    mode: Type.Union([Type.Literal('replay'), Type.Literal('record'), Type.Literal('auto')], {
      default: 'auto',
      description:
        'auto: calls the model only for requests without a recording. replay: never calls it. record: always calls it and replaces the recordings. AGENT_HOST_CASSETTE (replay, update or auto) takes precedence.',
    }),
  }),
  create: ({ llm }, config, { environment, projectDir, moduleId, log }) => {
    const mode = readMode(environment.AGENT_HOST_CASSETTE) ?? config.mode
    const file = new CassetteFile(resolve(projectDir, config.file))
    const hide = makeRedact(environment)
    const plays = new Map<string, number>()
    const recorded = new Set<string>()

    /** The same question gets its answers in their order, and then the last one again. */
    const take = (matching: readonly Recording[], key: string) => {
      const turn = plays.get(key) ?? 0
      plays.set(key, turn + 1)
      return matching[Math.min(turn, matching.length - 1)]
    }

    const record = async (request: unknown, key: string, parts: readonly LLMPart[]) => {
      const recording: Recording = JSON.parse(hide(JSON.stringify({ request, parts })))
      const isFirst = !recorded.has(key)
      recorded.add(key)
      await file.change((before) => [
        ...before.filter((known) => !(isFirst && mode === 'record' && keyOf(known.request) === key)),
        recording,
      ])
      log.info(`recorded an answer in ${config.file}`)
    }

    return {
      async *generate(asked, run) {
        run.signal.throwIfAborted()
        const request = JSON.parse(hide(JSON.stringify(toRecord(asked))))
        const key = keyOf(request)
        if (mode !== 'record') {
          const recordings = await file.read()
          const found = take(
            recordings.filter((known) => keyOf(known.request) === key),
            key,
          )
          if (found) {
            yield* replay(found, run.signal)
            return
          }
          if (mode === 'replay') throw new Error(describeMiss(recordings, request, config.file))
        }
        if (!llm)
          throw new Error(`Module '${moduleId}' (llm/cassette) has no model to record. Add one that provides LLM.`)
        const parts: LLMPart[] = []
        for await (const part of llm.generate(asked, run)) {
          parts.push(part)
          // What was not answered to its end is not kept; the end is not told before it is.
          if (part.type === 'finish') await record(request, key, parts)
          yield part
        }
      },
    }
  },
})

function readMode(value: string | undefined): 'replay' | 'record' | 'auto' | undefined {
  if (!value) return undefined
  if (value === 'update' || value === 'record') return 'record'
  if (value === 'replay' || value === 'auto') return value
  throw new Error(`AGENT_HOST_CASSETTE is '${value}'; it may be replay, update or auto.`)
}

async function* replay({ parts }: Recording, signal: AbortSignal): AsyncGenerator<LLMPart> {
  for (const part of parts) {
    signal.throwIfAborted()
    yield part
  }
}

/** A request as it stands in the file: attachments are recorded by checksum. */
function toRecord({ messages, ...settings }: LLMRequest): object {
  return {
    messages: messages.map((message) =>
      'attachments' in message && message.attachments
        ? { ...message, attachments: message.attachments.map(toRecordedFile) }
        : message,
    ),
    ...settings,
  }
}

function toRecordedFile({ data, ...facts }: Attachment): object {
  if (data instanceof URL && data.protocol !== 'data:') return { ...facts, url: data.href }
  return {
    ...facts,
    sha256: createHash('sha256')
      .update(data instanceof URL ? data.href : data)
      .digest('hex'),
  }
}

/** The same for the same question, in any order of its fields. */
function keyOf(request: unknown): string {
  return JSON.stringify(request, (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

/** Describes the differences from the most similar recording. */
function describeMiss(recordings: readonly Recording[], request: unknown, file: string): string {
  const [nearest] = recordings
    .map((recording) => differences(recording.request, request))
    .sort((a, b) => a.length - b.length)
  if (!nearest) return `The cassette ${file} has no recording. ${HOW_TO_RECORD}`
  const shown = nearest.slice(0, 3).map((line) => `  ${line}`)
  const more = nearest.length > 3 ? [`  and ${nearest.length - 3} more`] : []
  return [
    `The cassette ${file} has no recording of this request. It differs from the nearest of ${recordings.length}:`,
    ...shown,
    ...more,
    HOW_TO_RECORD,
  ].join('\n')
}
