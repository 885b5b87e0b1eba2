import http, { type Agent } from 'node:http'
import https from 'node:https'
import { requireGiven, URL_OBJECT } from '../given.ts'
import type { ProxySettings } from './proxy-settings.ts'

/**
 * Returns the agent of `node:http` and `node:https` that asks the proxy for an address (`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`);
 * `undefined` for an address that is reached directly.
 *
 * @example
 * ```ts
 * export function request(url: URL): void {
 *   const agent = proxyAgentFor(url)
 *   get(url, agent ? { agent } : {}, (answer) => answer.resume())
 * }
 * ```
 */
export function proxyAgentFor(address: URL): Agent | undefined {
  requireGiven(URL_OBJECT, address, 'address')
  const { globalAgent } = address.protocol === 'https:' ? https : http
  return proxiesInUse()?.proxyFor(address) ? globalAgent : undefined
}

/** The proxies that this process asks. */
export function proxiesInUse(): ProxySettings | undefined {
  const agent: Agent & { readonly proxies?: ProxySettings } = http.globalAgent
  return agent.proxies
}
