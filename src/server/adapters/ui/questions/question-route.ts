import type { FastifyInstance } from 'fastify'
import { AgentError } from '../../../../definition/problem.ts'
import { badRequest, HostError } from '../../../../errors.ts'
import { readTape } from '../../../../tape/file/read-tape.ts'
import type { Traces } from '../../../../trace/traces.ts'
import type { QuestionRequest } from '../../../../wire/question.ts'
import type { DebugAdapterOptions } from '../../adapter.ts'
import { existsFor, type UiRoutes } from '../routes.ts'
import { MAX_TAPE_BYTES, readWholeTape, type TapeSources } from '../tapes/run-tape.ts'
import { toRefusal } from '../variant-routes.ts'
import { findLack, isPageHere } from './may-ask.ts'
import { changeAgent, runEvals, type SavedTape, saveCase, saveTest } from './plan-question.ts'
import type { Question, Questions } from './questions.ts'

type QuestionOptions = Pick<DebugAdapterOptions, 'host' | 'redact' | 'options' | 'traces'> & {
  readonly questions: Questions
}

const MAX_BYTES = 1024 * 1024
/** Codes of errors in the request or in the project's files: they are answered with 400. */
const THEIRS = new Set(['OPTION_INVALID', 'PROJECT_INVALID', 'TAPE_INVALID'])

/** Adds the route by which the page has a question asked at the terminal. It writes nothing: a key typed there does. */
export function addQuestionRoute(app: FastifyInstance, options: QuestionOptions, { askAtTerminal }: UiRoutes): void {
  app.route({
    ...askAtTerminal(async (request, reply) => {
      const lack = findLack(request)
      if (lack !== undefined) throw new HostError('KEY_FORBIDDEN', lack)
      try {
        const id = await options.questions.ask(await toQuestion(request.body, options))
        return reply.code(202).send({ id, state: 'open', detail: 'Answer in the terminal of agent-host dev.' })
      } catch (error) {
        if (error instanceof AgentError) return reply.code(400).send(toRefusal(error, () => ({}), options.redact))
        if (error instanceof HostError && THEIRS.has(error.code)) throw badRequest(error.message, { cause: error })
        throw error
      }
    }),
    bodyLimit: MAX_BYTES,
    onRequest: existsFor(isPageHere),
  })
}

async function toQuestion(
  wanted: QuestionRequest,
  { host, redact, traces, options }: QuestionOptions,
): Promise<Question> {
  if (wanted.action === 'run_evals') return runEvals(options)
  if (wanted.action === 'change_agent') return changeAgent(wanted, { host, redact })
  const saved = await readSaved(wanted.run_id, host, traces)
  return wanted.action === 'save_test' ? saveTest(wanted, saved) : saveCase(wanted, saved, host.projectDir)
}

/** @throws HostError `REQUEST_INVALID` without a tape */
async function readSaved(runId: string, host: TapeSources['host'], traces: Traces | undefined): Promise<SavedTape> {
  const run = await traces?.query('run', runId)
  const bytes = run && traces && (await readWholeTape(run, { traces, host }, MAX_TAPE_BYTES))
  if (!bytes) throw badRequest('There is no tape of this run: the oldest are deleted')
  return { bytes, tape: await readTape(bytes, runId, MAX_TAPE_BYTES) }
}
