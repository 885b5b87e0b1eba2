import { systemCodeOf } from './errors.ts'
import { completeEnvironment } from './unknown-user.ts'

/** For `bin/run.js`: oclif, which is part of the built code, finds an environment that it can read. */
export async function execute(dir: string): Promise<void> {
  completeEnvironment(process.env)
  const { default: oclif } = await import('@oclif/core')
  try {
    // The commands import most files of the build at once: in steps, fewer are open at the same time.
    await import('./commands/base-command.ts')
    await import('./commands/runs.ts')
    await oclif.run(undefined, dir)
    oclif.flush()
  } catch (error) {
    if (systemCodeOf(error) !== 'EMFILE') return void (await oclif.handle(error as Error))
    process.stderr.write('Error: This process may not open enough files. Raise the limit: ulimit -n 1024\n')
    process.exitCode = 1
  }
}
