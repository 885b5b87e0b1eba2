import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'
import { Opening } from '../async.ts'
import { HostError } from '../errors.ts'
import { parseJson } from '../json.ts'
import type { Sealing } from '../protocols/sealing.ts'
import type { RecordStore } from './record-store.ts'

/** Record of the key that a store keeps for itself. */
const KEY = 'sealing-key'
const KEY_BYTES = 32
/** NIST SP 800-38D, section 8.2.2: at random, since servers share the key. */
const IV_BYTES = 12
const TAG_BYTES = 16
const VERSION = 'v1.'
const ALGORITHM = 'aes-256-gcm'

/**
 * Makes the sealing of a project: AES-256-GCM.
 *
 * @param open called when a text is first sealed or opened
 * @param secretKey undefined: the key is made at random, and kept in the store
 */
export function recordSealing(open: () => Promise<RecordStore>, secretKey?: string): RecordSealing {
  return new RecordSealing(secretKey === undefined ? () => open().then(readKey) : async () => toKey(secretKey))
}

/** Sealing with a key that was read: for what cannot wait. */
class OpenSealing {
  readonly #key: Buffer

  constructor(key: Buffer) {
    this.#key = key
  }

  /** As {@link Sealing.seal}. */
  seal(text: string, boundTo: readonly string[]): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key, iv).setAAD(toData(boundTo))
    const encrypted = [cipher.update(text, 'utf8'), cipher.final()]
    return VERSION + Buffer.concat([iv, ...encrypted, cipher.getAuthTag()]).toString('base64url')
  }

  /** As {@link Sealing.unseal}. */
  unseal(sealed: string, boundTo: readonly string[]): string | undefined {
    const bytes = Buffer.from(sealed.slice(VERSION.length), 'base64url')
    if (!sealed.startsWith(VERSION) || bytes.length < IV_BYTES + TAG_BYTES) return undefined
    const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES))
    decipher.setAAD(toData(boundTo)).setAuthTag(bytes.subarray(-TAG_BYTES))
    try {
      const opened = [decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]
      return Buffer.concat(opened).toString('utf8')
    } catch {
      return undefined
    }
  }
}

/** Sealing of a project, whose key is read at its first use. */
export class RecordSealing implements Sealing {
  readonly #sealing: Opening<OpenSealing>

  constructor(read: () => Promise<Buffer>) {
    this.#sealing = new Opening(async () => new OpenSealing(await read()))
  }

  async seal(text: string, boundTo: readonly string[]): Promise<string> {
    return (await this.open()).seal(text, boundTo)
  }

  async unseal(sealed: string, boundTo: readonly string[]): Promise<string | undefined> {
    return (await this.open()).unseal(sealed, boundTo)
  }

  /** @throws HostError `STORE_UNAVAILABLE` when the key is in a store that does not answer */
  open(): Promise<OpenSealing> {
    return this.#sealing.open()
  }
}

/**
 * Of several servers that find no key, one makes it.
 *
 * @throws HostError `RECORD_UNREADABLE` for a damaged one: what it sealed is lost, and another one would hide that
 */
async function readKey(records: RecordStore): Promise<Buffer> {
  const made = randomBytes(KEY_BYTES)
  if (await records.commit([[KEY, JSON.stringify(made.toString('base64url'))]], { absent: [KEY] })) return made
  const [text = ''] = await records.get([KEY])
  const key = Buffer.from(String(parseJson(text)), 'base64url')
  if (key.length === KEY_BYTES) return key
  throw new HostError(
    'RECORD_UNREADABLE',
    `The stored value '${KEY}' is damaged: it opens what the store has sealed.`,
    {
      suggestions: ['Restore a backup of the store.'],
    },
  )
}

/** A secret of at least 32 random characters needs no slow derivation. */
function toKey(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}

function toData(boundTo: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify(boundTo))
}
