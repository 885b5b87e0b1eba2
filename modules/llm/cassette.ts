import { resolve } from 'node:path'
import {
  defineModule,
  describeDifferences,
  encodeTapeValue,
  type JsonValue,
  LLM,
  type LLMPart,
  type LLMRequest,
  makeNameSecrets,
  makeRedact,
  optional,
  type Redact,
  type TapeCall,
  Type,
  writeTapeCall,
} from 'agent-host'
import { CassetteFile, type Recording } from './lib/cassette-file.ts'
import { toPlainRequest } from './lib/plain-request.ts'

const HOW_TO_RECORD = 'To record it, run once with AGENT_HOST_CASSETTE=update and a key.'

export default defineModule({
  name: 'CassetteLLM',
  description: 'Records the answers of another model in a file and replays them, for tests without network or key.',
  provides: [LLM],
  uses: { llm: optional(LLM) },
  scope: 'agent',
  attachments: ['*/*'],
  config: Type.Object({
    file: Type.String({
      minLength: 1,
      description:
        'File of the recordings, relative to the project, in the format of tapes. It may also be the tape of a run.',
    }),
    mode: Type.Union([Type.Literal('replay'), Type.Literal('record'), Type.Literal('auto')], {
      default: 'auto',
      description:
        'auto: calls the model only for requests without a recording. replay: never calls it. record: always calls it and replaces the recordings. AGENT_HOST_CASSETTE (replay, update or auto) takes precedence.',
    }),
  }),
  create: ({ llm }, config, { environment, projectDir, moduleId, log }) => {
    const mode = readMode(environment.AGENT_HOST_CASSETTE) ?? config.mode
    const file = new CassetteFile(resolve(projectDir, config.file))
    const nameSecrets = makeNameSecrets(environment)
    const redact = makeRedact(environment)
    const plays = new Map<string, number>()
    const recorded = new Set<string>()

    /** The same question gets its answers in their order, and then the last one again. */
    const take = (matching: readonly Recording[], key: string) => {
      const turn = plays.get(key) ?? 0
      plays.set(key, turn + 1)
      return matching[Math.min(turn, matching.length - 1)]
    }

    const record = async (request: AskedRequest, parts: TapeCall['parts']) => {
      const isFirst = !recorded.has(request.keys.tape)
      recorded.add(request.keys.tape)
      const call = { module: moduleId, protocol: 'LLM', method: 'generate', arguments: [request.tape], parts }
      await file.change((before) => {
        const kept = before.filter((known) => !(isFirst && mode === 'record' && isSame(known, request)))
        const number = Math.max(0, ...kept.map((known) => known.call)) + 1
        return [...kept, { lines: writeTapeCall(number, call, nameSecrets) }]
      })
      log.info(`recorded an answer in ${config.file}`)
    }

    return {
      async *generate(asked, run) {
        run.signal.throwIfAborted()
        const request = toAsked(asked, nameSecrets, redact)
        if (mode !== 'record') {
          const recordings = await file.read()
          const found = take(
            recordings.filter((known) => isSame(known, request)),
            request.keys.tape,
          )
          if (found) {
            yield* replay(found, run.signal)
            return
          }
          if (mode === 'replay') throw new Error(describeMiss(recordings, request, config.file))
        }
        if (!llm)
          throw new Error(`Module '${moduleId}' (llm/cassette) has no model to record. Add one that provides LLM.`)
        const startedMs = performance.now()
        const parts: { ms: number; value: LLMPart }[] = []
        for await (const part of llm.generate(asked, run)) {
          parts.push({ ms: Math.round(performance.now() - startedMs), value: part })
          // What was not answered to its end is not kept; the end is not told before it is.
          if (part.type === 'finish') await record(request, parts)
          yield part
        }
      },
    }
  },
})

/** A request in the forms that recordings have. */
type AskedRequest = Readonly<Record<Recording['form'], unknown>> & {
  readonly tape: JsonValue
  /** The same for the same request. */
  readonly keys: Readonly<Record<Recording['form'], string>>
}

function toAsked(request: LLMRequest, nameSecrets: Redact, redact: Redact): AskedRequest {
  const tape = encodeTapeValue(request, nameSecrets)
  const plain: unknown = JSON.parse(redact(JSON.stringify(toPlainRequest(request))))
  return { tape, plain, keys: { tape: keyOf(tape), plain: keyOf(plain) } }
}

function isSame({ form, request }: Recording, { keys }: AskedRequest): boolean {
  return keyOf(request) === keys[form]
}

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

/** The same for the same question, in any order of its fields. */
function keyOf(request: unknown): string {
  return JSON.stringify(request, (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

/** Describes the differences from the most similar recording. */
function describeMiss(recordings: readonly Recording[], asked: AskedRequest, file: string): string {
  const [nearest] = recordings
    .map((recording) => describeDifferences(recording.request, asked[recording.form]))
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
