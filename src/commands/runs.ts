import { existsSync } from 'node:fs'
import { Flags } from '@oclif/core'
import { badOption } from '../errors.ts'
import { SERVER_OPTIONS } from '../server/options/options.ts'
import { isRemote } from '../store/open-store.ts'
import { RUN_STATUSES } from '../trace/run-columns.ts'
import { BaseCommand } from './base-command.ts'
import { formatRuns, shortensIds } from './runs/format-run.ts'
import { listRuns } from './runs/list-runs.ts'
import { NO_RUNS, TRACED_BY } from './runs/open-reader.ts'
import { openRuns } from './runs/open-runs.ts'
import { readStatus } from './runs/read-status.ts'
import { readLocation, storeFlags } from './store/store-location.ts'

const MAX_LIMIT = 10_000

export default class Runs extends BaseCommand {
  static override description =
    'Lists the latest runs of this project, newest first, from its traces in ./debug. Child runs are below the run that started them.'
  static override examples = [
    'agent-host runs',
    'agent-host runs --agent example --status failed',
    'agent-host runs show 4f1c',
    'agent-host runs tail',
    'agent-host runs save 4f1c',
  ]
  static override flags = {
    agent: Flags.string({ description: 'Only runs of this agent' }),
    user: Flags.string({ description: 'Only runs of this user, as the client names it' }),
    conversation: Flags.string({ description: 'Only runs of this conversation: its id, or that of its first run' }),
    status: Flags.string({ description: `Only runs of this status: ${RUN_STATUSES.join(', ')}` }),
    text: Flags.string({
      description: 'Only runs with this text in their question, answer, error, user or conversation',
    }),
    evals: Flags.boolean({ description: 'Runs of evals instead of the others' }),
    limit: Flags.integer({ description: 'Number of runs [default: 20]' }),
    json: Flags.boolean({ description: 'Print them as JSON' }),
    ...storeFlags([SERVER_OPTIONS.store.flag]),
    server: Flags.string({ description: 'Only runs of this server', helpGroup: 'store' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Runs)
    const { agent, user, conversation, server, status, text, evals = false, limit = 20, json } = flags
    if (limit < 1 || limit > MAX_LIMIT) {
      throw badOption(`--limit must be from 1 to ${MAX_LIMIT}, not ${limit}.`)
    }
    const filter = { agentId: agent, user, conversation, server, status: readStatus(status), text }
    this.requireProject()
    const location = readLocation(flags)
    if (!isRemote(location.store) && !existsSync('debug')) return this.#printNone(json)
    const open = await openRuns(location)
    try {
      const runs = listRuns(open.reader.index.runs, filter, { limit, isEval: evals })
      if (open.reader.index.runs.count({ isEval: evals }) === 0) this.#printNone(json)
      else if (json) this.printJson({ runs })
      else if (runs.length === 0) this.log('No matching runs.')
      else {
        const width = process.stdout.columns ?? Infinity
        const options = { shortId: shortensIds(open.reader), width, hasServer: open.isShared }
        this.logLines(formatRuns(runs, options))
      }
    } finally {
      await open.close()
    }
  }

  #printNone(isJson: boolean): void {
    if (isJson) this.printJson({ runs: [] })
    else this.log(`${NO_RUNS} ${TRACED_BY}`)
  }
}
