import type { Translation } from '../../durable/adapter-runs/translation.ts'

/** Loads the part of the responses adapter in stored runs that go on without a request, when the first of them needs it. */
export async function loadTranslation(): Promise<Translation> {
  return (await import('./responses-compat/translation.ts')).translation
}
