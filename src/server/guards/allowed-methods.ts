import type { FastifyInstance } from 'fastify'

/**
 * Notes the routes of a server as they are added.
 *
 * @returns the methods that a path is served with: empty for a path that is not served at all
 */
export function trackMethods(app: FastifyInstance): (path: string) => string[] {
  const routes: { pattern: RegExp; methods: readonly string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    // The route of the CORS preflight is for every path, and says nothing about it.
    if (method === 'OPTIONS' && url.endsWith('*')) return
    routes.push({ pattern: toPattern(url), methods: Array.isArray(method) ? method : [method] })
  })
  return (path) => [...new Set(routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods))]
}

function toPattern(url: string): RegExp {
  const source = url
    .split(/(:\w+|\*)/)
    .map((part) => (part.startsWith(':') ? '[^/]+' : part === '*' ? '.*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')))
  return new RegExp(`^${source.join('')}/?$`)
}
