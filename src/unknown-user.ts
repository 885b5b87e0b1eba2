import { homedir, tmpdir, userInfo } from 'node:os'

/**
 * Sets `HOME` and `SHELL` for a user whom this machine does not know (`docker run --user 12345`): packages ask the system for them
 * as they are loaded, and it has no answer but an error.
 */
export function completeEnvironment(environment: NodeJS.ProcessEnv): void {
  if (!environment.HOME && !answers(homedir)) environment.HOME = tmpdir()
  if (!environment.SHELL && !answers(userInfo)) environment.SHELL = '/bin/sh'
}

function answers(ask: () => unknown): boolean {
  try {
    ask()
    return true
  } catch {
    return false
  }
}
