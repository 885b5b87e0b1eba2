import { fieldsOf, isObject, type ProviderMetadata, parseJson, type Sealing } from 'agent-host'

/** Data that a vendor wants back, of a block of thinking or of the calls behind it. */
export interface SignedData {
  readonly thinking?: ProviderMetadata
  /** By ids of calls. */
  readonly calls?: Readonly<Record<string, ProviderMetadata>>
}

/** Seals data of vendors for the client of one agent, which keeps it as a signature. */
export class Signatures {
  readonly #sealing: Sealing
  readonly #boundTo: readonly string[]

  constructor(sealing: Sealing, tenant: string, agentId: string) {
    this.#sealing = sealing
    this.#boundTo = ['messages', tenant, agentId]
  }

  seal(data: SignedData): Promise<string> {
    return this.#sealing.seal(JSON.stringify(data), this.#boundTo)
  }

  /** Returns undefined for what this server has not sealed for this tenant and agent. */
  async open(signature: unknown): Promise<SignedData | undefined> {
    if (typeof signature !== 'string' || signature === '') return undefined
    const text = await this.#sealing.unseal(signature, this.#boundTo)
    const data = text === undefined ? undefined : parseJson(text)
    return isObject(data) ? (fieldsOf(data) as SignedData) : undefined
  }
}
