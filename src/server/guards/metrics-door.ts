import type { onRequestHookHandler } from 'fastify'
import { badOption, HostError } from '../../errors.ts'
import type { ServerOptions } from '../options/options.ts'
import { type DoorOptions, makeDoor } from './door.ts'
import { isLoopback } from './host-check.ts'
import { NO_SENDER, principalOf } from './principal.ts'

type Guards = Pick<DoorOptions, 'keys' | 'fileKeys' | 'tokens' | 'origins' | 'refuseWrongKey'>

/**
 * Returns the hooks that guard `GET /metrics` where there is a file of keys, or keys are required: it shows sums of all tenants, so it
 * takes the token of the debug UI, or a key with the scope `debug` for all tenants and agents.
 *
 * @returns undefined where everybody may read it
 * @throws HostError `OPTION_INVALID` where others could reach it, and no key is there
 */
export function metricsDoor(
  { openMetrics, requireAuth, host }: Pick<ServerOptions, 'openMetrics' | 'requireAuth' | 'host'>,
  guards: Guards,
): onRequestHookHandler[] | undefined {
  const opensAll = guards.fileKeys ?? guards.tokens
  if (openMetrics || !(requireAuth || opensAll)) return undefined
  if (guards.keys.length === 0 && !opensAll) {
    if (isLoopback(host)) return undefined
    throw badOption('/metrics would be open, and --require-auth does not allow that.', {
      suggestions: ['Give it a key with --ui-token or --keys, or open it with --open-metrics.'],
    })
  }
  return [makeDoor({ ...guards, adapter: '/metrics', anonymous: NO_SENDER }), refuseParts]
}

const refuseParts: onRequestHookHandler = (request, _reply, done) => {
  const { tenant, agents, isOperator } = principalOf(request)
  if (isOperator || (tenant === '' && !agents)) return done()
  done(
    new HostError('KEY_FORBIDDEN', '/metrics shows all tenants and agents: it takes keys without a tenant or agents'),
  )
}
