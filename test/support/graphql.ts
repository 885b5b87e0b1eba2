import type { AgentServer } from 'agent-host'

/** The data of a GraphQL answer. @throws Error with the first error of it */
export async function ask<T = Record<string, unknown>>(
  { app }: Pick<AgentServer, 'app'>,
  query: string,
  variables?: object,
  headers: Record<string, string> = {},
): Promise<T> {
  const { data, errors } = await askRaw({ app }, { query, variables }, headers)
  if (errors) throw new Error(errors[0]?.message)
  return data as T
}

export interface GraphqlAnswer {
  readonly data?: unknown
  readonly errors?: readonly { readonly message: string; readonly path?: readonly string[] }[]
  readonly detail?: string
}

export async function askRaw(
  { app }: Pick<AgentServer, 'app'>,
  payload: object,
  headers: Record<string, string> = {},
): Promise<GraphqlAnswer & { status: number }> {
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/api/ui/graphql', payload, headers })
  return { status: statusCode, ...JSON.parse(body) }
}
