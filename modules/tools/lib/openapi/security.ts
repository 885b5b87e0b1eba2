import { checkHeaders, fieldsOf, isObject } from 'agent-host'
import { checkHeaderValues } from '../check-header-values.ts'
import type { Json, OpenApiDocument } from './document.ts'
import type { Operation } from './operations.ts'
import type { Credentials } from './request.ts'

/** Secrets by the names of the security schemes of a document. */
export class Security {
  readonly #schemes: ReadonlyMap<string, Json>
  readonly #secrets: Readonly<Record<string, string>>
  readonly #headers: Readonly<Record<string, string>>

  /** @throws HostError `MODULE_INVALID` for a secret of a scheme that the document does not have, or that has none */
  constructor(
    document: OpenApiDocument,
    secrets: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>>,
  ) {
    const { securitySchemes } = fieldsOf(document.root.components)
    const entries = Object.entries(fieldsOf(securitySchemes))
    this.#schemes = new Map(
      entries.flatMap(([name, raw]) => {
        const { value } = document.resolve(raw, document.name)
        return isObject(value) ? [[name, value] as const] : []
      }),
    )
    this.#secrets = secrets
    this.#headers = headers
    checkHeaders(Object.keys(headers), 'headers')
    for (const name of Object.keys(secrets)) {
      const scheme = this.#schemes.get(name)
      const known = [...this.#schemes.keys()].join(', ') || 'none'
      const path = ['components', 'securitySchemes']
      if (!scheme) throw document.refuse(path, `there is no security scheme '${name}'. Schemes: ${known}.`)
      if (scheme.type === 'mutualTLS') {
        throw document.refuse(
          [...path, name],
          `the security scheme '${name}' is mutualTLS, which has no secret to send.`,
        )
      }
      if (scheme.in === 'header') checkHeaders([String(scheme.name)], `the security scheme '${name}'`)
    }
  }

  /** True for an operation that no configured secrets, or none at all, let in. */
  lacksSecrets({ security }: Operation): boolean {
    return security.length > 0 && !this.#chosenOf(security)
  }

  /**
   * Returns the credentials of a call: of the first way whose secrets are all there.
   *
   * @throws Error for a secret that no header can have
   */
  credentialsOf({ security }: Operation): Credentials {
    const sent = {
      headers: { ...this.#headers },
      query: {} as Record<string, string>,
      cookies: {} as Record<string, string>,
    }
    for (const name of this.#chosenOf(security) ?? []) {
      const { type, in: place, name: field, scheme } = this.#schemes.get(name) ?? {}
      const secret = this.#secrets[name] ?? ''
      if (type === 'apiKey' && place === 'query') sent.query[String(field)] = secret
      else if (type === 'apiKey' && place === 'cookie') sent.cookies[String(field)] = secret
      else if (type === 'apiKey') sent.headers[String(field)] = secret
      else if (type === 'http' && String(scheme).toLowerCase() === 'basic') {
        sent.headers.authorization = `Basic ${Buffer.from(secret).toString('base64')}`
      } else sent.headers.authorization = `Bearer ${secret}`
    }
    checkHeaderValues(sent.headers, 'headers, security')
    return sent
  }

  /** Without any secret only if there is no other way. */
  #chosenOf(security: Operation['security']): readonly string[] | undefined {
    const possible = security.filter((names) => names.every((name) => this.#secrets[name] !== undefined))
    return possible.find(({ length }) => length > 0) ?? possible[0]
  }
}
