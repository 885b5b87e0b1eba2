import { defineModule, defineProtocol, type Run } from 'agent-host'

/** A protocol of this project: the articles that agents may read. */
export interface Articles {
  titles(run?: Run): Promise<readonly string[]>
  read(title: string, run: Run): Promise<string | undefined>
}
export const Articles = defineProtocol<Articles>('Articles', ['titles', 'read'])

const TEXTS: Readonly<Record<string, string>> = {
  returns: 'You may return anything within 30 days.',
  delivery: 'We deliver within two days.',
}

export default defineModule({
  name: 'Articles',
  description: 'The articles of the shop.',
  provides: [Articles],
  scope: 'agent',
  create: () => ({
    titles: async () => Object.keys(TEXTS),
    read: async (title) => TEXTS[title],
  }),
})
