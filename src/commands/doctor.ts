import { Flags } from '@oclif/core'
import { BaseCommand } from './base-command.ts'
import type { Finding } from './doctor/examine.ts'

const MARKS = { ok: '✓', warning: '!', problem: '✗' } as const

export default class Doctor extends BaseCommand {
  static override description =
    'Checks this machine and project: Node, keys, vendors of models, the port, the stores, Python, ejected modules.'
  static override examples = ['agent-host doctor', 'agent-host doctor --port 8000 --json']
  static override flags = {
    port: Flags.integer({
      description: 'Port that should be free [default: AGENT_HOST_PORT, otherwise 9001]',
      min: 1,
      max: 65_535,
    }),
    json: Flags.boolean({ description: 'Print the findings as JSON' }),
  }

  override async run(): Promise<void> {
    const { port, json } = (await this.parse(Doctor)).flags
    const { examine } = await import('./doctor/examine.ts')
    const findings = await examine(process.cwd(), port)
    if (json) this.printJson({ findings })
    else this.logLines(findings.flatMap(describe))
    if (findings.some(({ state }) => state === 'problem')) this.exit(1)
  }
}

function describe({ state, subject, message, advice }: Finding): string[] {
  const line = `${MARKS[state]} ${subject.padEnd(10)} ${message}`
  return advice === undefined ? [line] : [line, `  ${''.padEnd(10)} ${advice}`]
}
