import { relative } from 'node:path'
import { describeWatchFailure } from '../../host/agent-folder/describe-watch-failure.ts'
import { printError } from '../terminal/print-error.ts'

/** Folders of generated and downloaded files. */
const IGNORED = /(^|[\\/])(node_modules|coverage|debug|responses|memory|conversations|__pycache__|\.[^\\/]+)([\\/]|$)/
/** Saves come in groups. */
const SETTLE_MS = 100

/** Does something, and does it again whenever a file of the project has changed, until the process is stopped. */
export async function repeatOnChange(act: () => Promise<unknown>): Promise<never> {
  const { watch } = await import('chokidar')
  let wake = (): void => {}
  const projectDir = process.cwd()
  const watcher = watch(projectDir, {
    ignoreInitial: true,
    ignorePermissionErrors: true,
    ignored: (path) => IGNORED.test(relative(projectDir, path)),
  })
  watcher.on('error', (error) => printError(describeWatchFailure(error)))
  watcher.on('all', () => wake())
  // Its reader has left, such as `head`: nobody sees what comes.
  process.stdout.once('error', () => process.exit(0))
  for (;;) {
    const changed = new Promise<void>((resolve) => {
      wake = resolve
    })
    await act()
    console.log('\nWaiting for changes. Ctrl-C stops.')
    await changed
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  }
}
