import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FILE = fileURLToPath(new URL('ratios.json', import.meta.url))
const TOLERANCE = 1.05

/** CPU time of the last release as a multiple of the floor's, by title. */
interface Kept {
  readonly release: string
  readonly cpu: Readonly<Record<string, number>>
}

const measured = new Map<string, number>()

/** Notes the CPU time of this build as a multiple of the floor's. */
export function noteRatio(title: string, cpu: number): void {
  measured.set(title, Number(cpu.toFixed(2)))
}

/** Lists lines that are more than 5 % worse than at the last release. */
export function reportWorse(): void {
  if (measured.size === 0) return
  const { release, cpu } = readKept()
  const worse = [...measured].filter(([title, ratio]) => ratio > (cpu[title] ?? Number.POSITIVE_INFINITY) * TOLERANCE)
  console.log(
    worse.length === 0
      ? `Nothing is more than 5 % worse than at ${release}.`
      : `More than 5 % worse than at ${release}:`,
  )
  for (const [title, ratio] of worse) console.log(`  ${title}: CPU x ${ratio} of the floor, was ${cpu[title]}`)
}

/** Saves the measured ratios as those of this release; other lines stay. */
export function keepRatios(): void {
  if (measured.size === 0) return
  const { version: release } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const cpu = { ...readKept().cpu, ...Object.fromEntries(measured) }
  writeFileSync(FILE, `${JSON.stringify({ release, cpu }, null, 2)}\n`)
}

function readKept(): Kept {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Kept
}
