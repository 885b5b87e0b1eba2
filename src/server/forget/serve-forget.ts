import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { AssembledProject } from '../../assembly/opened-project.ts'
import { HostError } from '../../errors.ts'
import { VISITS } from '../../host/host.ts'
import { MAX_USER_CHARS } from '../../wire/schemas.ts'
import { type DoorOptions, makeDoor } from '../guards/door.ts'
import { NO_SENDER, principalOf, visitorOf } from '../guards/principal.ts'
import { noteFailure } from '../monitoring/request-log.ts'
import { describeRoutes } from '../openapi/describe-routes.ts'

type Guards = Pick<DoorOptions, 'fileKeys' | 'tokens' | 'origins' | 'refuseWrongKey'>

/**
 * Adds `POST /forget`, which deletes the data of one user of the tenant of the key.
 *
 * @param forgetInAdapters removes what adapters keep in memory, and returns the number of things
 */
export function serveForget(
  app: FastifyInstance,
  project: AssembledProject,
  guards: Guards,
  forgetInAdapters: (tenant: string, user: string) => Promise<number>,
): void {
  app.route({
    ...ROUTES.forgetUser(async (request, reply) => {
      const { user } = request.body
      const { tenant, agents } = principalOf(request)
      if (agents) throw new HostError('KEY_FORBIDDEN', 'Data of users is deleted by a key for all agents')
      const { forgetUser } = await import('./forget-user.ts')
      // The runs of that user are not those of the sender.
      const forgotten = await project.host[VISITS].leave(() => forgetUser(project, { tenant, user }))
      const records = forgotten.records + (await forgetInAdapters(tenant, user))
      const answer = { object: 'user.forgotten', user, ...forgotten, records }
      if (forgotten.left.length === 0) return answer
      const detail = forgotten.left.join('\n')
      noteFailure(request, detail)
      return reply.code(503).send({ detail, ...answer })
    }),
    onRequest: [
      makeDoor({ ...guards, adapter: '/forget', keys: [], anonymous: NO_SENDER }),
      (request, _reply, done) => {
        const { origins } = visitorOf(request)
        done(origins.isForeign(request) ? origins.refuse(request, 'delete data') : undefined)
      },
    ],
  })
}

const COUNTS = ['runs_ended', 'responses', 'conversations', 'memories', 'records', 'traces', 'tapes'] as const

const ANSWER = Type.Object({
  object: Type.Literal('user.forgotten'),
  user: Type.String(),
  ...Object.fromEntries(COUNTS.map((name) => [name, Type.Integer()])),
  left: Type.Array(Type.String()),
})
/** Without counts where the store cannot be reached. */
const UNREACHED = Type.Interface([Type.Partial(ANSWER)], { detail: Type.String() })

const ROUTES = describeRoutes(
  { tag: 'Server', keyOf: 'file', errors: [400, 401, 403] },
  {
    forgetUser: {
      method: 'POST',
      path: '/forget',
      scope: 'forget',
      summary: 'Deletes the data of one user',
      description: 'Ends their runs first. Only of the tenant of the key.',
      schema: {
        body: Type.Object(
          { user: Type.String({ minLength: 1, maxLength: MAX_USER_CHARS }) },
          { additionalProperties: false },
        ),
      },
      answer: ANSWER,
      answers: {
        503: { description: 'Not all was reached: `left` names the rest. Or nothing was.', answer: UNREACHED },
      },
    },
  },
)
