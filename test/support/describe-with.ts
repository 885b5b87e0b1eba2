import type { Suite } from 'mocha'

/** Describes what needs a program; where that is not installed the suite is skipped, and its title says so. */
export function describeWith(program: string, isThere: boolean, title: string, suite: (this: Suite) => void): void {
  if (isThere) describe(title, suite)
  else describe.skip(`${title} (skipped: ${program} is not installed)`, suite)
}
