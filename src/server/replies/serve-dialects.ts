import type { FastifyInstance } from 'fastify'
import type { AdapterOptions } from '../adapters/adapter.ts'
import { COMPAT, type Dialect, V1 } from './dialect.ts'
import { makeErrorHandler } from './error-replies.ts'

/** Adds the same routes once for each dialect that is served, under its prefix and with its errors. */
export async function serveDialects(
  app: FastifyInstance,
  { options, describeFailure }: Pick<AdapterOptions, 'options' | 'describeFailure'>,
  addRoutes: (scope: FastifyInstance, dialect: Dialect) => void,
): Promise<void> {
  for (const dialect of options.noV1 ? [COMPAT] : [COMPAT, V1]) {
    await app.register(
      async (scope) => {
        scope.setErrorHandler(makeErrorHandler(describeFailure, dialect))
        addRoutes(scope, dialect)
      },
      { prefix: dialect.prefix },
    )
  }
}
