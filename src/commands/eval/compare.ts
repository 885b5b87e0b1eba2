import { Args, Flags } from '@oclif/core'
import { badProject } from '../../errors.ts'
import { compareResults } from '../../evals/compare.ts'
import { findResult, readResult } from '../../evals/result-file.ts'
import { BaseCommand } from '../base-command.ts'
import { formatComparison } from './format-result.ts'

export default class EvalCompare extends BaseCommand {
  static override description =
    'Compares two results of evals: cases that got better or worse, and whether the difference may be noise.'
  static override examples = [
    'agent-host eval compare evals/baseline.json latest',
    'agent-host eval compare 2026-11-20 2026-11-23T10 --json',
  ]
  static override args = {
    before: Args.string({
      description: 'File of a result, the beginning of its name in evals/results, or latest',
      required: true,
    }),
    after: Args.string({ description: 'The result to compare with it', required: true }),
  }
  static override flags = {
    json: Flags.boolean({ description: 'Print the comparison as JSON' }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(EvalCompare)
    this.requireProject()
    const read = async (word: string) => readResult(await findResult(word, process.cwd(), (path) => this.pathOf(path)))
    const [before, after] = [await read(args.before), await read(args.after)]
    const comparisons = compareResults(before, after)
    if (comparisons.length === 0) {
      throw badProject('The results have no agent in common: nothing can be compared.')
    }
    if (flags.json) this.printJson(comparisons)
    else this.logLines(comparisons.flatMap(formatComparison))
  }
}
