import { messageOf, systemCodeOf } from '../../errors.ts'

/** Sentence about folders that the system does not let us watch, with what to set (inotify(7)). */
export function describeWatchFailure(error: unknown): string {
  const setting = SETTINGS[systemCodeOf(error) ?? '']
  const advice = setting ? ` Raise ${setting}, or set CHOKIDAR_USEPOLLING=1. Until then edits may go unnoticed.` : ''
  return `Files cannot be watched: ${messageOf(error)}.${advice}`
}

/** Limits of Linux, by the code of the failure. */
const SETTINGS: Readonly<Record<string, string>> = {
  EMFILE: 'the number of watchers of this user (sysctl fs.inotify.max_user_instances=1024)',
  ENOSPC: 'the number of watched files (sysctl fs.inotify.max_user_watches=524288)',
}
