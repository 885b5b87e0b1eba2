import { existsSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { embeddedFile } from '../../store/open-store.ts'
import { defaultPort, findServer } from '../server/running-server.ts'
import type { Send } from '../server/server-client.ts'
import { readServerFlags } from '../server/server-flags.ts'
import { ApprovalsClient, type ServerFlags } from './approvals-client.ts'

/** Decided runs go on in a server or worker: a command ends too early. */
const OPTIONS = { adapters: ['ResponsesCompatApiAdapter'], noWorker: true, logLevel: 'silent' } as const

/**
 * Works on the approvals of the server that the flags name, or of the development server. Where none serves them, works on the
 * store of the project itself: servers without the responses adapter keep what waits there, too.
 */
export async function useApprovals<T>(flags: ServerFlags, work: (client: ApprovalsClient) => Promise<T>): Promise<T> {
  const url = flags.url ?? findServer() ?? `http://127.0.0.1:${defaultPort()}`
  const options = { ...readServerFlags({ ...flags }), ...OPTIONS }
  if (flags.url !== undefined || !isStored(options) || (await servesApprovals(url))) {
    return work(new ApprovalsClient({ ...flags, url }))
  }
  const { buildServer } = await import('../../server/server.ts')
  const server = await buildServer(options)
  try {
    return await work(new ApprovalsClient({}, sendTo(server.app)))
  } finally {
    await server.close()
  }
}

function isStored({ store, responsesDir: dir, projectDir }: ReturnType<typeof readServerFlags>): boolean {
  const file = embeddedFile({ store, dir, projectDir, warn: () => {} })
  return file === undefined || existsSync(file)
}

async function servesApprovals(url: string): Promise<boolean> {
  const reply = await fetch(`${url}/compat/approvals?limit=1`).catch(() => undefined)
  return reply !== undefined && reply.status !== 404
}

function sendTo(app: FastifyInstance): Send {
  return async (url, { method = 'GET', body, headers }) => {
    const reply = await app.inject({ method, url, headers, payload: body })
    return new Response(reply.body, { status: reply.statusCode })
  }
}
