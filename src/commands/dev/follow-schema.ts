import { messageOf } from '../../errors.ts'
import { SCHEMA_FILE } from '../../project/schema-file.ts'
import type { BuiltServer } from '../../server/server.ts'

/** Saves come in groups. */
const SCHEMA_AFTER_MS = 300

/** Keeps the schema for editors in step with the available modules. */
export function followSchema({ agents, options, app }: BuiltServer): void {
  const keep = async () => {
    const { keepSchema } = await import('../../project/keep-schema.ts')
    await keepSchema(options.projectDir).catch((error: unknown) => {
      app.log.warn(`Cannot write ${SCHEMA_FILE}: ${messageOf(error)}`)
    })
  }
  const timer = setTimeout(keep, SCHEMA_AFTER_MS).unref()
  // Each save restarts the wait.
  agents.history.onLoad(() => void timer.refresh())
}
