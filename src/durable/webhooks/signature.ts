import { createHmac, timingSafeEqual } from 'node:crypto'

/** A message older or newer than this is refused. */
const TOLERANCE_S = 5 * 60

/** Content of a signature of Standard Webhooks (https://www.standardwebhooks.com). */
export interface SignedMessage {
  readonly id: string
  /** Unix seconds. */
  readonly timestamp: string | number
  readonly body: string | Uint8Array
}

/** Returns the header `webhook-signature`: one signature for each secret. */
export function signMessage(message: SignedMessage, secrets: readonly string[]): string {
  return secrets.map((secret) => `v1,${digestOf(message, secret)}`).join(' ')
}

/** Tells whether one of the signatures of a header is that of the message. */
export function isSigned(message: SignedMessage, secret: string, header: string): boolean {
  const expected = `v1,${digestOf(message, secret)}`
  return header.split(' ').some((signature) => isEqualText(signature, expected))
}

function digestOf({ id, timestamp, body }: SignedMessage, secret: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
}

/** Compares texts in a time that does not tell where they differ. */
export function isEqualText(one: string, other: string): boolean {
  const digests = [one, other].map((text) => createHmac('sha256', 'compare').update(text).digest())
  return timingSafeEqual(digests[0] as Buffer, digests[1] as Buffer)
}

/** @param timestamp Unix seconds, as a header has them */
export function isFresh(timestamp: string): boolean {
  return /^\d{1,12}$/.test(timestamp) && Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_S
}
