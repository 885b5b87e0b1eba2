import http from 'node:http'
import { authorizationOf } from './authorization.ts'
import type { ProxyFor } from './proxy-settings.ts'

/** Receiver of the requests of `fetch`. */
interface Dispatcher {
  dispatch(options: { readonly origin?: string | URL | undefined }, handler: object): boolean
}

/** @param proxy undefined for direct connections */
type MakeDispatcher = (proxy: URL | undefined) => Dispatcher

/** Since 8 it has another language for `fetch`, and another name for where `fetch` finds the dispatcher. */
const isLater = Number.parseInt(process.versions.undici ?? '', 10) >= 8
const PLACE = Symbol.for(`undici.globalDispatcher.${isLater ? 2 : 1}`)

/** Has `fetch` choose the way for each request. */
export async function setProxyDispatcher(proxyFor: ProxyFor): Promise<void> {
  const make = isLater ? borrow : await loadUndici()
  const made = new Map<URL | undefined, Dispatcher>()
  const value: Dispatcher = {
    dispatch(options, handler) {
      const proxy = proxyFor(new URL(String(options.origin)))
      const dispatcher = made.get(proxy) ?? make(proxy)
      made.set(proxy, dispatcher)
      return dispatcher.dispatch(options, handler)
    },
  }
  Object.defineProperty(globalThis, PLACE, { value, writable: true })
}

/** The package speaks the language of `fetch` up to Node 24. */
async function loadUndici(): Promise<MakeDispatcher> {
  const { Agent, ProxyAgent } = await import('undici')
  return (proxy) => {
    if (!proxy) return new Agent() as Dispatcher
    const token = authorizationOf(proxy)
    return new ProxyAgent({ uri: proxy.origin, proxyTunnel: false, ...(token && { token }) }) as Dispatcher
  }
}

/** Later ones have their own, and make it for all of the process alone. */
function borrow(proxy: URL | undefined): Dispatcher {
  const set: (environment: Record<string, string>) => () => void = Reflect.get(http, 'setGlobalProxyFromEnv')
  const { href } = proxy ?? new URL('http://127.0.0.1')
  const giveBack = set({ http_proxy: href, https_proxy: href, no_proxy: proxy ? ',' : '*' })
  const dispatcher: Dispatcher = Reflect.get(globalThis, PLACE)
  giveBack()
  return dispatcher
}
