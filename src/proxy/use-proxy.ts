import http from 'node:http'
import https from 'node:https'
import { HttpProxyAgent, HttpsProxyAgent } from './proxy-agents.ts'
import { setProxyDispatcher } from './proxy-dispatcher.ts'
import type { ProxySettings } from './proxy-settings.ts'

/** As the agents that Node begins with. */
const KEPT = { keepAlive: true, scheduling: 'lifo', timeout: 5000 } as const

/** Has `fetch` and `node:http` of this process ask the proxies of these settings. */
export async function useProxy(proxies: ProxySettings): Promise<void> {
  await setProxyDispatcher(proxies.proxyFor)
  http.globalAgent = new HttpProxyAgent(KEPT, proxies)
  https.globalAgent = new HttpsProxyAgent(KEPT, proxies)
}
