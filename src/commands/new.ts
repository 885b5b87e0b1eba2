import { resolve } from 'node:path'
import { Args } from '@oclif/core'
import { badProject } from '../errors.ts'
import { BaseCommand } from './base-command.ts'

const KINDS = ['agent', 'tool', 'module']

export default class New extends BaseCommand {
  static override description = 'Scaffolds a commented agent, tool or module in this project.'
  static override examples = [
    'agent-host new agent helper',
    'agent-host new tool word-count',
    'agent-host new module greeter',
  ]
  static override args = {
    kind: Args.string({ required: true, description: 'Kind of file to create', options: KINDS }),
    name: Args.string({ required: true, description: 'Name of the agent, tool or module' }),
  }

  override async run(): Promise<void> {
    const { kind, name } = (await this.parse(New)).args
    const { planNew } = await import('../project/create/plan-new.ts')
    const { writeAllOrNone, writeFiles } = await import('../project/write-files.ts')
    const [file, ...markers] = await planNew(kind, name)
    if (!file) return
    this.requireProject()
    const suggestions = ['Choose another name, or edit that file.']
    const refuse = (path: string) => badProject(`${path} already exists; nothing changed.`, { suggestions })
    const { findTaken } = await import('../project/eject/eject-items.ts')
    const taken = kind === 'module' ? findTaken(resolve('.'), `${name}.ts`) : undefined
    if (taken !== undefined) throw refuse(taken)
    await writeAllOrNone(resolve('.'), [file], refuse)
    await writeFiles(resolve('.'), markers)
    this.log(`Created ${file.path}.`)
    for (const line of nextStep(kind, name, file.path)) this.log(`  ${line}`)
  }
}

function nextStep(kind: string, name: string, path: string): string[] {
  if (kind === 'module') return [`Use it in an agent: - { id: ${name.split('/').at(-1)}, module: ${name} }`]
  if (kind === 'tool') return [`List it in an agent, under files of tools/local: - ${path}`]
  return ['Check it: agent-host check', `Talk to it: agent-host chat ${name}`]
}
