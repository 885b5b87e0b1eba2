import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { badOption, HostError, messageOf } from '../errors.ts'
import { makeVariants } from '../evals/columns.ts'
import { toJunit } from '../evals/junit.ts'
import type { ResultFile } from '../evals/result-file.ts'
import type { EvalRequest, EvalResult, EvalRun } from '../wire/eval-result.ts'
import { agentDirFlag, DEFAULT_AGENT_DIR } from './agents/agent-dir-flag.ts'
import { stderrLog } from './agents/open-agents.ts'
import { BaseCommand } from './base-command.ts'
import { formatResult } from './eval/format-result.ts'
import { checkGates, describeVerdict, type Gates, readGates, type Verdict } from './eval/gates.ts'
import type { PreparedEval } from './eval/prepare-eval.ts'
import { ProgressLine } from './eval/progress-line.ts'
import { readChange } from './replay/read-change.ts'
import { plural } from './terminal/plural.ts'

/** Runs at once, unless `--concurrency` says otherwise. */
const CONCURRENCY = 4
/** They say what is run: `--resume` has that from the result. */
const WHAT = ['agent', 'set', 'live', 'filter', 'last-failed', 'repeat']

export default class Eval extends BaseCommand {
  static override description =
    'Runs the cases of evals/*.jsonl and scores the answers. A case with a tape is answered from it. Exits with 1 below --min or when a case got worse than in --baseline, with 2 when nothing could be run.'
  static override examples = [
    'agent-host eval',
    'agent-host eval evals/refunds.jsonl --live llm --repeat 3',
    'agent-host eval --live llm --set orchestrator.system_prompt="Be brief."',
    'agent-host eval --baseline evals/baseline.json --min 0.8 --junit eval.xml',
    'agent-host eval --last-failed',
    'agent-host eval compare evals/baseline.json latest',
  ]
  static override args = {
    files: Args.string({
      description: 'Files of cases, or folders of them [default: evals/*.jsonl]',
      multiple: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    agent: Flags.string({
      description:
        'Agent to run the cases with; can be given several times [default: that of the case, or the only one]',
      helpValue: '<agent>',
      multiple: true,
    }),
    set: Flags.string({
      description:
        'Run a variant beside the agent, with another value; several values of one field make several variants',
      helpValue: '[<agent>.]<module>.<path>=<value>',
      multiple: true,
    }),
    live: Flags.string({
      description:
        'Call these for real in cases with a tape: llm, tools, or the id of a module; can be given several times',
      helpValue: '<name>',
      multiple: true,
    }),
    filter: Flags.string({
      description: 'Only cases whose id contains this text or that have it as a tag; can be given several times',
      helpValue: '<text>',
      multiple: true,
    }),
    'last-failed': Flags.boolean({ description: 'Only cases that failed in the latest result' }),
    repeat: Flags.integer({
      description: 'Runs of each case [default: 1]',
      helpValue: '<number>',
      min: 1,
      max: 100,
    }),
    concurrency: Flags.integer({
      description: 'Concurrent runs [default: 4]',
      helpValue: '<number>',
      min: 1,
      max: 100,
    }),
    resume: Flags.boolean({ description: 'Continue the latest result that was stopped' }),
    min: Flags.string({
      description: 'Exit with 1 if the score of an agent or a variant is below this, from 0 to 1',
      helpValue: '<score>',
      helpGroup: 'result',
    }),
    baseline: Flags.string({
      description: 'Exit with 1 if a case fails that passed in this result, and name it; latest is the previous eval',
      helpValue: '<result>',
      helpGroup: 'result',
    }),
    junit: Flags.string({ description: 'Write a JUnit report', helpValue: '<file>', helpGroup: 'result' }),
    json: Flags.boolean({ description: 'Print the result as JSON', helpGroup: 'result' }),
    'agent-dir': agentDirFlag,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Eval)
    const progress = new ProgressLine(process.stderr)
    const paths = (args.files ?? []).map((path) => this.pathOf(path))
    const [prepared, gates] = await this.#prepare(async () => {
      this.requireProject()
      if (flags.resume) this.#refuseWhat(paths)
      if (flags.junit !== undefined) makeWritable(this.pathOf(flags.junit))
      const { prepareEval } = await import('./eval/prepare-eval.ts')
      const agentDir = flags['agent-dir'] ?? DEFAULT_AGENT_DIR
      const request = flags.resume ? undefined : toRequest(flags, await agentIds(agentDir))
      const own = await prepareEval({
        request,
        onlyFailed: flags['last-failed'],
        paths,
        agentDir,
        concurrency: flags.concurrency ?? CONCURRENCY,
        log: progress.above(stderrLog),
      })
      return [own, await readGates(flags, (path) => this.pathOf(path), own.file.path)] as const
    })
    const { result: whole, isStopped } = await runUntilStopped(prepared, progress)
    const { file } = prepared
    if (whole.runs.some(hasBegun)) file.save(whole)
    const result = file.withoutSecrets(whole)
    const verdict = checkGates(result, gates)
    if (flags.json) this.printJson({ ...result, ...verdict, result_file: pathOf(file) })
    else this.logLines(formatResult(result))
    const isReported = flags.junit === undefined || this.#writeJunit(result, this.pathOf(flags.junit))
    if (isStopped) this.#stop(result, file)
    this.exit(this.#conclude(result, { file, gates, verdict, isReported }))
  }

  /** Whatever keeps an eval from beginning is a fault of its call: nothing was run. */
  async #prepare<T>(prepare: () => Promise<T>): Promise<T> {
    try {
      return await prepare()
    } catch (error) {
      if (!(error instanceof HostError)) throw error
      throw badOption(error.message, { suggestions: error.suggestions, cause: error })
    }
  }

  /** @throws HostError `OPTION_INVALID` */
  #refuseWhat(paths: readonly string[]): void {
    const given = WHAT.find((name) => this.argv.some((word) => word === `--${name}` || word.startsWith(`--${name}=`)))
    if (given === undefined && paths.length === 0) return
    const what = given === undefined ? 'Files' : `--${given}`
    throw badOption(`${what} cannot be given with --resume, which runs what the result began with.`)
  }

  #writeJunit(result: EvalResult, path: string): boolean {
    try {
      writeFileSync(path, toJunit(result))
      return true
    } catch (error) {
      this.logToStderr(`The JUnit report could not be written: ${messageOf(error)}`)
      return false
    }
  }

  /** @returns the exit code */
  #conclude(
    { runs, problems }: EvalResult,
    { file, gates, verdict, isReported }: { file: ResultFile; gates: Gates; verdict: Verdict; isReported: boolean },
  ): number {
    if (!runs.some(hasBegun)) {
      this.logToStderr('Nothing could be run.')
      return 2
    }
    for (const line of describeVerdict(verdict, gates)) this.logToStderr(line)
    if (file.problem) this.logToStderr(`The result could not be written: ${file.problem}`)
    else this.logToStderr(`Result: ${pathOf(file)}`)
    const isWhole = problems.length === 0 && runs.every(hasBegun) && !runs.some(hasBrokenScorer)
    const isGood = verdict.below_min.length === 0 && verdict.regressions.length === 0
    return isWhole && isGood && isReported && !file.problem ? 0 : 1
  }

  #stop({ runs }: EvalResult, file: ResultFile): never {
    if (file.problem) this.logToStderr(`Stopped. The result could not be written: ${file.problem}`)
    else if (!runs.some(hasBegun)) this.logToStderr('Stopped before a run had ended.')
    else {
      this.logToStderr(`Stopped: ${plural(runs.length, 'run')} kept in ${pathOf(file)}.`)
      this.logToStderr('  Go on with: agent-host eval --resume')
    }
    this.exit(130)
  }
}

/** Ctrl-C stops it, and keeps what is done; a second one ends the process. */
async function runUntilStopped(
  { run, file }: PreparedEval,
  progress: ProgressLine,
): Promise<{ result: EvalResult; isStopped: boolean }> {
  const stopping = new AbortController()
  const stop = () => (stopping.signal.aborted ? process.exit(130) : stopping.abort())
  process.on('SIGINT', stop)
  try {
    const result = await run(stopping.signal, (news) => {
      progress.show(news)
      // At the beginning, too, where runs were kept: another terminal sees that it is under way.
      if (news.run ? hasBegun(news.run) : news.done > 0) file.saveSoon(news.result)
    })
    return { result, isStopped: stopping.signal.aborted }
  } finally {
    progress.clear()
    process.off('SIGINT', stop)
  }
}

async function agentIds(agentDir: string): Promise<readonly string[]> {
  const { ProjectAgents } = await import('../evals/project-agents.ts')
  return (await ProjectAgents.read(process.cwd(), agentDir)).ids
}

function toRequest(
  flags: {
    agent?: string[]
    set?: string[]
    live?: string[]
    filter?: string[]
    repeat?: number | undefined
  },
  agents: readonly string[],
): Omit<EvalRequest, 'files'> {
  const { agent = [], set = [], live = [], filter = [], repeat = 1 } = flags
  return { agents: agent, variants: makeVariants(set.map((text) => readChange(text, agents))), live, filter, repeat }
}

/** Makes a file and its folder before the first question costs money. */
function makeWritable(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true })
    appendFileSync(path, '')
  } catch (cause) {
    const message = `The JUnit report cannot be written: ${messageOf(cause)}.`
    throw badOption(message, { suggestions: ['Name another file with --junit.'], cause })
  }
}

function hasBegun({ status }: EvalRun): boolean {
  return status !== 'not_run'
}

function hasBrokenScorer({ scores }: EvalRun): boolean {
  return scores.some(({ error }) => error !== undefined)
}

function pathOf({ path }: ResultFile): string {
  return relative(process.cwd(), path)
}
