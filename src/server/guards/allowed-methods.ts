import type { FastifyInstance } from 'fastify'

/**
 * Notes the routes of a server as they are added.
 *
 * @returns the methods that a path is served with: empty for a path that is not served at all
 */
export function trackMethods(app: FastifyInstance): (path: string) => string[] {
  const routes: { url: string; pattern: RegExp; methods: readonly string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    // The route of the CORS preflight is for every path, and says nothing about it.
    if (method === 'OPTIONS' && url.endsWith('*')) return
    routes.push({ url, pattern: toPattern(url), methods: Array.isArray(method) ? method : [method] })
  })
  return (path) => {
    const found = routes.filter(({ pattern }) => pattern.test(path))
    // A path that has a route of its own is no id of another route.
    const own = found.filter(({ url }) => url === path.replace(/\/$/, ''))
    return [...new Set((own.length > 0 ? own : found).flatMap(({ methods }) => methods))]
  }
}

function toPattern(url: string): RegExp {
  const source = url
    .split(/(:\w+|\*)/)
    .map((part) => (part.startsWith(':') ? '[^/]+' : part === '*' ? '.*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')))
  return new RegExp(`^${source.join('')}/?$`)
}
