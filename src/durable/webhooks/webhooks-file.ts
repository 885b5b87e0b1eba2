import { hash } from 'node:crypto'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { NAME_PATTERN } from '../../definition/definition.ts'
import type { Environment } from '../../definition/interpolate.ts'
import type { ValueProblem } from '../../definition/schema-problems.ts'
import { findSecretProblem } from '../../definition/secret-problem.ts'
import { readSettings, readSettingsText } from '../../definition/settings-file.ts'
import { EVENT_TYPES, type EventType } from './event-types.ts'
import { WEBHOOKS_FILE, type Webhook } from './webhook.ts'

const Secret = Type.String({ minLength: 1 })
const HookSchema = Type.Object({
  url: Type.String({ minLength: 1 }),
  secret: Type.Union([Secret, Type.Array(Secret, { minItems: 1, maxItems: 2 })]),
  events: Type.Array(Type.Unsafe<EventType>(Type.Union(EVENT_TYPES.map((type) => Type.Literal(type)))), {
    minItems: 1,
  }),
  agents: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
  tenants: Type.Optional(Type.Array(Type.String({ pattern: NAME_PATTERN }), { minItems: 1 })),
})
const FileSchema = Type.Object({ webhooks: Type.Array(HookSchema, { maxItems: 100 }) })
const RULES = {
  file: WEBHOOKS_FILE,
  kind: 'a file of webhooks',
  maxBytes: 256 * 1024,
  schema: FileSchema,
  findMistakes,
}

/**
 * Reads the webhooks of a project: none without the file.
 *
 * @throws HostError `OPTION_INVALID` that names each place which is wrong, without secrets
 */
export async function readWebhooks(projectDir: string, environment: Environment): Promise<readonly Webhook[]> {
  const text = await readSettingsText(join(projectDir, WEBHOOKS_FILE), WEBHOOKS_FILE)
  if (text === undefined) return []
  const { value } = readSettings(text, { ...RULES, environment })
  return value.webhooks.map(toWebhook)
}

function findMistakes({ webhooks: hooks }: Static<typeof FileSchema>): ValueProblem[] {
  const hrefs = hooks.map(({ url }) => hrefOf(url))
  return hooks.flatMap(({ url, secret }, index) => {
    const at = (field: string, message: string) => ({ path: ['webhooks', index, field], message, suggestions: [] })
    const problem = [secret]
      .flat()
      .map((each) => findSecretProblem(each, true))
      .find((each) => each !== undefined)
    return [
      ...(isAddress(url) ? [] : [at('url', 'url must be an http or https address, without a name and password.')]),
      ...(hrefs.indexOf(hrefOf(url)) === index
        ? []
        : [at('url', 'Another webhook has this address: list its events in one.')]),
      ...(problem === undefined ? [] : [at('secret', `secret ${problem}.`)]),
    ]
  })
}

/** Returns an address in its normal form, from which the ids are derived. */
function hrefOf(text: string): string {
  return parseUrl(text)?.href ?? text
}

function isAddress(text: string): boolean {
  const { protocol = '', username, password } = parseUrl(text) ?? {}
  return /^https?:$/.test(protocol) && !username && !password
}

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

function toWebhook({ url: text, secret, events, agents, tenants = [''] }: Static<typeof HookSchema>): Webhook {
  const url = new URL(text)
  const id = hash('sha256', url.href).slice(0, 16)
  return {
    id,
    url,
    shown: url.origin + url.pathname,
    secrets: [secret].flat(),
    events: new Set(events),
    agents,
    tenants,
  }
}
