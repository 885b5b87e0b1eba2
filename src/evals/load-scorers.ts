import { readdirSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { didYouMean } from '../definition/nearest-name.ts'
import { messageOf } from '../errors.ts'
import type { ProjectCode } from '../module/project-code.ts'
import type { EvalProblem } from '../wire/eval-result.ts'
import { EVAL_FOLDER, type EvalCase } from './read-cases.ts'
import type { Scorer } from './scorer.ts'
import { scorers as builtIn } from './scorers/index.ts'
import { waits } from './scorers/tools.ts'

/** Scorers of a project by name, and the exports that are none. */
export interface LoadedScorers {
  readonly scorers: ReadonlyMap<string, Scorer>
  readonly problems: readonly EvalProblem[]
}

/** A scorer with its name. */
export type NamedScorer = readonly [name: string, scorer: Scorer]

/** Built-in scorers that rows may name. */
const PLAIN: ReadonlyMap<string, Scorer> = new Map<string, Scorer>([
  ['exact', builtIn.exact],
  ['contains', builtIn.contains],
  ['tools', builtIn.tools],
  ['toolsInAnyOrder', builtIn.toolsInAnyOrder],
])
/** They judge where neither project nor row name any. */
const DEFAULT = ['exact', 'tools']

const CODE = /^(?!.*\.(?:d|test)\.m?ts$).*\.m?[jt]s$/

/** Loads the exports of `evals/*.ts`. A file that cannot be loaded and an export that is no function are problems. */
export async function loadScorers(code: ProjectCode, projectDir: string): Promise<LoadedScorers> {
  const scorers = new Map<string, Scorer>()
  const problems: EvalProblem[] = []
  for (const name of listCode(join(projectDir, EVAL_FOLDER))) {
    const file = `${EVAL_FOLDER}/${name}`
    try {
      const { exports } = await code.load(file)
      for (const [key, value] of Object.entries(exports)) {
        const scorer = key === 'default' ? basename(name, extname(name)) : key
        if (value == null) continue
        if (!isScorer(value)) {
          problems.push({ where: file, message: `the export '${key}' is no scorer: it is no function.` })
        } else if (scorers.has(scorer)) {
          problems.push({ where: file, message: `there are two scorers '${scorer}'.` })
        } else scorers.set(scorer, value)
      }
    } catch (error) {
      problems.push({ where: file, message: messageOf(error) })
    }
  }
  return { scorers, problems }
}

function isScorer(value: unknown): value is Scorer {
  return typeof value === 'function'
}

/**
 * Returns the scorers that judge a case: those that its row names, otherwise all of the project, otherwise `exact` and `tools`.
 *
 * @throws Error naming a scorer that is not there
 */
export function chooseScorers(
  { scorers: wanted, expectedWaits }: Pick<EvalCase, 'scorers' | 'expectedWaits'>,
  { scorers }: LoadedScorers,
): NamedScorer[] {
  const names = wanted ?? (scorers.size > 0 ? [...scorers.keys()] : DEFAULT)
  const chosen = names.map((name): NamedScorer => {
    const scorer = scorers.get(name) ?? PLAIN.get(name)
    if (scorer) return [name, scorer]
    const known = [...scorers.keys(), ...PLAIN.keys()]
    throw new Error([`there is no scorer '${name}'.`, ...didYouMean(name, known)].join(' '))
  })
  return expectedWaits ? [...chosen, ['waits', waits]] : chosen
}

function listCode(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => CODE.test(name))
      .sort()
  } catch {
    // Without the folder there are none.
    return []
  }
}
