import { resolve } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { didYouMean } from '../definition/nearest-name.ts'
import { listNames } from '../definition/problem.ts'
import { badOption, type HostError } from '../errors.ts'
import type { Ejected } from '../project/eject/eject-items.ts'
import { BaseCommand } from './base-command.ts'
import { type Choice, chooseItems } from './eject/choose-items.ts'
import type { ModuleUsers } from './eject/users-of.ts'
import { plural } from './terminal/plural.ts'
import { askSeveral, canAsk } from './terminal/prompts.ts'

export const destFlag = Flags.string({
  char: 'd',
  description: 'Folder of the project [default: the current one]',
  helpValue: '<folder>',
})

/** Argument of the commands that look at ejected modules. */
export const ejectedNames = Args.string({
  description: 'Modules or packages [default: all that are ejected]',
  multiple: true,
  ignoreStdin: true,
})

/** Existing files that are named; of more, the first and their number. */
const MAX_NAMED = 3

export default class Eject extends BaseCommand {
  static override description =
    'Copies library modules into modules/ for you to change. Agents that name them use the copies from then on.'
  static override examples = [
    'agent-host eject',
    'agent-host eject -m llm/openai-compatible tools',
    'agent-host eject list',
  ]
  static override args = { word: Args.string({ hidden: true, ignoreStdin: true }) }
  static override flags = {
    module: Flags.string({
      char: 'm',
      description: 'Module to copy, or a package for all of its modules; several may follow',
      helpValue: '<name>',
      multiple: true,
    }),
    dest: destFlag,
    'dry-run': Flags.boolean({ description: 'Show what would be written, and write nothing' }),
  }

  /** Nothing of this depends on the environment: a broken `.env` does no harm. */
  override async init(): Promise<void> {}

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Eject)
    if (args.word !== undefined) throw misplaced(args.word)
    const folder = resolve(flags.dest ?? '.')
    const { ejectItems } = await import('../project/eject/eject-items.ts')
    const references = flags.module ? await findInLibrary(flags.module) : await ask(folder)
    if (references.length === 0) return this.log('Nothing was chosen.')
    const dryRun = flags['dry-run'] ?? false
    const ejected = await ejectItems(folder, references, { dryRun })
    this.#print(ejected, dryRun)
    if (dryRun || ejected.bases === 0) return
    const { usersOf } = await import('./eject/users-of.ts')
    this.logLines(nextSteps(await usersOf(folder, references)))
  }

  #print({ created, left, bases, packages }: Ejected, dryRun: boolean): void {
    for (const path of created) this.log(`${dryRun ? 'would create' : 'created'} ${path}`)
    if (bases > 0) {
      const files = plural(bases, 'file')
      this.log(
        `${dryRun ? 'would save' : 'saved'} the originals of ${files} in .agent-host/ejected, for eject diff and upgrade`,
      )
    }
    for (const line of describeLeft(left)) this.warn(line)
    if (packages.size > 0 && created.length > 0) {
      const ranges = [...packages].map(([name, range]) => `${name}@${range}`)
      this.log('The copies run as they are. For the types of what they import:')
      this.log(`  npm install --save-dev ${ranges.map((range) => `'${range}'`).join(' ')}`)
    }
  }
}

/** Existing files are never overwritten: one line for all that are there, and one for each that another file stands for. */
function describeLeft(left: Ejected['left']): string[] {
  const kept = left.filter(({ path, by }) => by === path).map(({ path }) => path)
  const others = left.filter(({ path, by }) => by !== path)
  return [
    ...(kept.length === 0 ? [] : [describeKept(kept)]),
    ...others.map(({ path, by }) => `${path} is not written: ${by} exists.`),
  ]
}

function describeKept(paths: readonly string[]): string {
  const named = paths.length > MAX_NAMED ? paths.slice(0, 1) : paths
  const more = paths.length > named.length ? ` and ${plural(paths.length - named.length, 'more file')}` : ''
  const [exist, are] = paths.length === 1 ? ['exists', 'it is'] : ['exist', 'they are']
  return `${named.join(', ')}${more} already ${exist}; kept as ${are}.`
}

/** Describes the effect of the copies, and the next step for those without one. */
function nextSteps(modules: readonly ModuleUsers[]): string[] {
  const used = modules.filter(({ agents }) => agents.length > 0)
  const unused = modules.filter(({ agents }) => agents.length === 0)
  return [
    '',
    ...used.map(
      ({ reference, agents }) => `${reference} is used by ${listNames(agents)}. Edit modules/${reference}.ts.`,
    ),
    ...unused.map(describeUnused),
    'Check the project: agent-host check',
  ]
}

function describeUnused({ reference, within }: ModuleUsers): string {
  const [outer] = within
  if (outer === undefined) return `No agent names ${reference} yet. Name it in an agent file: module: ${reference}`
  return `No agent names ${reference}: ${outer} keeps its own. Eject ${outer} as well, or name ${reference} in the agent.`
}

async function findInLibrary(names: readonly string[]): Promise<string[]> {
  const { listLibrary } = await import('../module/load-module.ts')
  const { findItems } = await import('../project/eject/find-items.ts')
  return findItems(names, listLibrary(), 'in the library')
}

async function ask(folder: string): Promise<string[]> {
  if (!canAsk()) {
    throw badOption('Modules can be chosen from a list only on a terminal.', {
      suggestions: ['Name them: agent-host eject -m <package/item>', 'List them: agent-host eject list'],
    })
  }
  const { offerItems } = await import('./eject/offer-items.ts')
  return chooseItems(await offerItems(folder), (message, choices: readonly Choice[]) => askSeveral(message, choices))
}

function misplaced(word: string): HostError {
  const [meant] = didYouMean(word, ['list', 'diff', 'upgrade'])
  return badOption(`'eject' takes no argument '${word}'.`, {
    suggestions: [
      meant ?? `To copy a module: agent-host eject -m ${word}`,
      'See more help with agent-host eject --help',
    ],
  })
}
