import { createHmac, hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { TriggerSignature } from '../../../definition/definition.ts'
import { isEqualText, isFresh, isSigned } from '../../../durable/webhooks/signature.ts'
import { badRequest } from '../../../errors.ts'
import { fieldsOf } from '../../../json.ts'

/** Request of a sender, as it came. */
export interface SentRequest {
  readonly headers: IncomingHttpHeaders
  /** The raw bytes: they are what is signed. */
  readonly body: Buffer
}

/** One way to sign requests. */
interface SignatureForm {
  /** Tells whether a request is from the holder of the secret, and new. */
  readonly verifies: (request: SentRequest, secret: string) => boolean
  /**
   * Returns what is the same for each copy of a request.
   *
   * @throws HostError `REQUEST_INVALID` for a request without it
   */
  readonly keyOf: (request: SentRequest, value: unknown) => string
  /** Header with an id that is not signed: one that has come with another body starts nothing. */
  readonly idHeader?: string
}

const FORMS: Readonly<Record<TriggerSignature, SignatureForm>> = {
  standard: {
    verifies: ({ headers, body }, secret) => {
      const [id, timestamp] = [textOf(headers['webhook-id']), textOf(headers['webhook-timestamp'])]
      return (
        isSigned({ id, timestamp, body }, secret, textOf(headers['webhook-signature'])) &&
        id !== '' &&
        isFresh(timestamp)
      )
    },
    keyOf: ({ headers }) => textOf(headers['webhook-id']),
  },
  // https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries: the id of a delivery is not signed, its body is.
  github: {
    verifies: ({ headers, body }, secret) =>
      isEqualText(textOf(headers['x-hub-signature-256']), `sha256=${hmac(secret, body)}`),
    keyOf: ({ body }) => hash('sha256', body),
    idHeader: 'x-github-delivery',
  },
  // https://api.slack.com/authentication/verifying-requests-from-slack
  slack: {
    verifies: ({ headers, body }, secret) => {
      const timestamp = textOf(headers['x-slack-request-timestamp'])
      const signed = Buffer.concat([Buffer.from(`v0:${timestamp}:`), body])
      return isEqualText(textOf(headers['x-slack-signature']), `v0=${hmac(secret, signed)}`) && isFresh(timestamp)
    },
    keyOf: (_, value) => required('event_id', fieldsOf(value).event_id),
  },
  bearer: {
    verifies: ({ headers }, secret) => isEqualText(textOf(headers.authorization), `Bearer ${secret}`),
    keyOf: ({ headers }) => required('Idempotency-Key', headers['idempotency-key']),
  },
}

/** Tells whether a request is from the holder of the secret. */
export function verifyRequest(form: TriggerSignature, request: SentRequest, secret: string): boolean {
  return FORMS[form].verifies(request, secret)
}

/**
 * Returns what is the same for each copy of a request that was verified, and the unsigned id of its delivery, if it has one.
 *
 * @throws HostError `REQUEST_INVALID` for a request without a key
 */
export function keysOfRequest(form: TriggerSignature, request: SentRequest, value: unknown): [string, string?] {
  const { keyOf, idHeader = '' } = FORMS[form]
  const id = textOf(request.headers[idHeader])
  return id === '' ? [keyOf(request, value)] : [keyOf(request, value), `id ${id}`]
}

function hmac(secret: string, bytes: Buffer): string {
  return createHmac('sha256', secret).update(bytes).digest('hex')
}

function textOf(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' ? header : ''
}

function required(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= 255) return value
  throw badRequest(`${name} is missing, or longer than 255 characters`)
}
