import { readFileSync, writeFileSync } from 'node:fs'
import type { Counts } from './counted-server.ts'

/** Numbers that a change may raise only with a reason. */
const PINS = new URL('pins.json', import.meta.url)
/** Names of the functions at that time, each with the requests that ran it: they tell which ones are new. */
const NAMES = new URL('pinned-functions.json', import.meta.url)
const TOLERANCE = 0.03
const RENEW = 'npm run bench -- --keep counts'

const counted = new Map<string, Counts>()

type Pin = Pick<Counts, 'promises'> & { readonly functions: number }

/** Returns what differs from the pins of a request: more than 3 % of the functions, or more than one promise. */
export function differencesFromPin(title: string, { functions, promises }: Counts): string[] {
  const pin = readJson<Record<string, Pin>>(PINS)[title]
  if (!pin) return [`${title} has no pin: ${RENEW}`]
  const ratio = functions.length / pin.functions
  const ran = `${title} runs ${functions.length} functions of dist instead of ${pin.functions}`
  const made = `${title} makes ${Math.round(promises)} promises instead of ${pin.promises}`
  return [
    ...(ratio > 1 + TOLERANCE ? [`${ran}. New:\n  ${newOnes(title, functions).join('\n  ')}`] : []),
    ...(ratio < 1 - TOLERANCE ? [`${ran}: lower the pin (${RENEW})`] : []),
    ...(promises - pin.promises > 1.5 ? [made] : []),
    ...(pin.promises - promises > 1.5 ? [`${made}: lower the pin (${RENEW})`] : []),
  ]
}

/** Notes what this build runs for a request. */
export function noteCounts(title: string, counts: Counts): void {
  counted.set(title, counts)
}

/** Saves what was counted as the pins. */
export function keepPins(): void {
  if (counted.size === 0) return
  const all = [...counted]
  const pins = all.map(([title, { functions, promises }]): [string, Pin] => [
    title,
    { functions: functions.length, promises: Math.round(promises) },
  ])
  const names = [...new Set(all.flatMap(([, { functions }]) => functions))].sort()
  const runners = (name: string) => all.flatMap(([title, { functions }]) => (functions.includes(name) ? title : []))
  writeJson(PINS, Object.fromEntries(pins))
  writeJson(NAMES, Object.fromEntries(names.map((name) => [name, runners(name).join(', ')])))
}

function newOnes(title: string, functions: readonly string[]): string[] {
  const known = readJson<Record<string, string>>(NAMES)
  return functions.filter((name) => !known[name]?.split(', ').includes(title))
}

function readJson<Content>(file: URL): Content {
  return JSON.parse(readFileSync(file, 'utf8')) as Content
}

function writeJson(file: URL, content: object): void {
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`)
}
