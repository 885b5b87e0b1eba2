import { badOption, messageOf } from '../errors.ts'
import { type AgentHost, ATTACH, VISITS } from '../host/host.ts'
import type { Log } from '../protocols/log.ts'
import type { RecordStore } from '../store/record-store.ts'
import { AuditBoundaries } from './audit-boundaries.ts'
import { AuditFile } from './audit-file.ts'
import { AuditLog } from './audit-log.ts'
import { auditRecords } from './audit-records.ts'

interface AuditOptions {
  readonly serverName: string
  /** Secret that the key of the HMACs is derived from; undefined for one of this process. */
  readonly secretKey?: string | undefined
}

/** Names, and what each of them means. */
type Meanings = ReadonlyMap<string, string>

/** The audit log of a project: lines about the agents that are registered from now on. */
export class Audit {
  readonly log: AuditLog
  readonly #host: AgentHost

  /**
   * @param path absolute
   * @throws HostError `OPTION_INVALID` for a file that cannot be written
   */
  constructor(path: string, { serverName: server, secretKey }: AuditOptions, host: AgentHost, log: Log) {
    try {
      this.log = new AuditLog({ file: new AuditFile(path), server, secretKey, log })
    } catch (cause) {
      const suggestions = ['Name a file in a folder that exists, and that this user may write.']
      throw badOption(`--audit-log: ${path} cannot be written: ${messageOf(cause)}.`, { suggestions, cause })
    }
    this.#host = host
    host[ATTACH](new AuditBoundaries(this.log, host))
  }

  /** Has a store of its own for the durable runs write lines about decisions, see {@link auditRecords}. */
  guard(records: RecordStore): RecordStore {
    return auditRecords(records, this.log, this.#host[VISITS])
  }

  /**
   * Writes a line for each agent that is in service, and for each change of them.
   *
   * @returns a function that ends it
   */
  followAgents(): () => Promise<void> {
    const host = this.#host
    const tell = this.changesOf('agent')
    let next: NodeJS.Immediate | undefined
    const look = () => {
      next = undefined
      tell(new Map(host[VISITS].leave(() => host.list()).map(({ id, version }) => [id, version])))
    }
    look()
    // Code that many agents use changes them one after the other.
    const unfollow = host.onChange(() => {
      next ??= setImmediate(look)
    })
    return async () => {
      unfollow()
      clearImmediate(next)
    }
  }

  /** Returns what writes a line for each that came, went, or means something else than at the call before. */
  changesOf(event: 'agent' | 'key'): (now: Meanings) => void {
    let before: Meanings = new Map()
    return (now) => {
      for (const [name, meaning] of now) {
        if (before.get(name) === meaning) continue
        const version = event === 'agent' ? meaning : undefined
        this.log.note({ event, [event]: name, change: before.has(name) ? 'changed' : 'added', version })
      }
      for (const name of before.keys()) if (!now.has(name)) this.log.note({ event, [event]: name, change: 'removed' })
      before = now
    }
  }
}
