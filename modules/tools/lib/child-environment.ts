import type { ModuleContext } from 'agent-host'

const ALLOWED = /^(PATH|HOME|USER|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|VIRTUAL_ENV|SystemRoot|PATHEXT)$/

/**
 * Returns the environment of a child process: the variables that programs need to run, and the named ones. Keys stay
 * here.
 */
export function pickEnvironment(
  environment: ModuleContext['environment'],
  named: readonly string[],
): Record<string, string> {
  const entries = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return Object.fromEntries(entries.filter(([name]) => ALLOWED.test(name) || named.includes(name)))
}
