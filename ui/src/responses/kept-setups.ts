import { keep, readKept } from '../storage.ts'
import type { Setup } from './setup.ts'

const NAME = 'playground-setups'
const MAX_SETUPS = 30

/** Keeps a setup in this browser, under an id for addresses. */
export function keepSetup(id: string, setup: Setup): void {
  const others = Object.entries(readAll()).filter(([name]) => name !== id)
  keep(NAME, Object.fromEntries([[id, setup], ...others].slice(0, MAX_SETUPS)))
}

export function readSetup(id: string | undefined): Setup | undefined {
  const all = readAll()
  return id !== undefined && Object.hasOwn(all, id) ? all[id] : undefined
}

function readAll(): Readonly<Record<string, Setup>> {
  return readKept<Readonly<Record<string, Setup>>>(NAME, {})
}
