import { resolve } from 'node:path'
import type { Difference } from '../../project/eject/diff-ejected.ts'
import { VERSION } from '../../version.ts'
import { BaseCommand } from '../base-command.ts'
import { destFlag, ejectedNames } from '../eject.ts'

export default class EjectDiff extends BaseCommand {
  static override description =
    'Shows the changes in ejected modules since you copied them: yours, then those of agent-host.'
  static override examples = ['agent-host eject diff', 'agent-host eject diff llm/auto']
  static override args = { names: ejectedNames }
  static override flags = { dest: destFlag }

  override async init(): Promise<void> {}

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(EjectDiff)
    const { diffEjected } = await import('../../project/eject/diff-ejected.ts')
    const differences = await diffEjected(resolve(flags.dest ?? '.'), args.names ?? [])
    for (const difference of differences) {
      this.log(`modules/${difference.path}: ${describe(difference)}`)
      // What was compared character by character is bytes.
      for (const text of [difference.here, difference.upstream]) if (text) this.log(decode(text))
    }
    if (differences.length === 0) this.log('Nothing is ejected.')
  }
}

function describe({ from, here, upstream, isGone }: Difference): string {
  const origin = from === undefined ? 'ejected' : `ejected from ${from}`
  if (here === null) return `${origin}; its original is missing from .agent-host/ejected, so the changes are unknown`
  const there = isGone ? 'no longer in' : upstream === '' ? 'the same in' : 'changed in'
  return `${origin}; ${here === '' ? 'unchanged' : 'changed'} here, ${there} agent-host ${VERSION}`
}

function decode(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8').trimEnd()
}
