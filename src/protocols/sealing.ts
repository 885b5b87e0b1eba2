/**
 * Encrypts texts that wait in a store or with a client, and opens them again. A sealed text is bound to names, such as a tenant and an
 * agent; under other names it cannot be opened.
 */
export interface Sealing {
  /**
   * @param boundTo names in a fixed order
   * @returns visible ASCII characters
   * @throws HostError `STORE_UNAVAILABLE` when the key is in a store that does not answer
   */
  seal(text: string, boundTo: readonly string[]): Promise<string>
  /**
   * @returns undefined for what was not sealed with this key under these names, or was changed since
   * @throws HostError `STORE_UNAVAILABLE` when the key is in a store that does not answer
   */
  unseal(sealed: string, boundTo: readonly string[]): Promise<string | undefined>
}
