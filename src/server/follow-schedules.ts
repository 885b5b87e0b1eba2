import type { FastifyInstance } from 'fastify'
import type { AssembledProject } from '../assembly/opened-project.ts'
import type { Schedules } from '../durable/schedules/schedules.ts'
import { messageOf } from '../errors.ts'

/** Begins the runs of schedules while the server runs. Loads nothing as long as no agent has one. */
export function followSchedules(
  app: FastifyInstance,
  { host, durableRuns: service }: Pick<AssembledProject, 'host' | 'durableRuns'>,
): void {
  let opening: Promise<Schedules | undefined> | undefined
  let isClosing = false
  const look = () => {
    if (host.list().some(({ schedules }) => schedules)) opening ??= open().catch(report)
  }
  const report = (error: unknown) => {
    app.log.error(`Schedules cannot be followed: ${messageOf(error)}`)
    return undefined
  }
  const open = async () => {
    const { loadFindDue } = await import('../definition/due-times.ts')
    const { Schedules } = await import('../durable/schedules/schedules.ts')
    const schedules = new Schedules({ host, service, log: app.log, findDue: await loadFindDue() })
    if (!isClosing) schedules.start()
    return schedules
  }
  app.addHook('onReady', async () => look())
  const unfollow = host.onChange(look)
  app.addHook('preClose', async () => {
    isClosing = true
    unfollow()
    await (await opening)?.stop()
  })
}
