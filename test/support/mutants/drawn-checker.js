// Plugin of StrykerJS: of all mutants it lets those through that a proof has drawn.
import { readFileSync } from 'node:fs'

class DrawnChecker {
  #drawn = new Set()

  async init() {
    this.#drawn = new Set(JSON.parse(readFileSync(process.env.DRAWN_MUTANTS, 'utf8')))
  }

  async check(mutants) {
    const outcome = (mutant) =>
      this.#drawn.has(keyOf(mutant)) ? { status: 'passed' } : { status: 'compileError', reason: 'not drawn' }
    return Object.fromEntries(mutants.map((mutant) => [mutant.id, outcome(mutant)]))
  }

  group(mutants) {
    return [mutants.map(({ id }) => id)]
  }
}

export const strykerPlugins = [{ kind: 'Checker', name: 'drawn', injectableClass: DrawnChecker }]

/** Names a mutant: its place, from line 0 and column 0 on, and what stands there instead. */
export function keyOf({ fileName, location: { start, end }, replacement }) {
  const file = fileName.slice(fileName.lastIndexOf('/src/') + 1)
  return `${file}:${start.line}:${start.column}-${end.line}:${end.column} ${replacement}`
}
