import { completeEnvironment } from './unknown-user.ts'

/** For `bin/run.js`: oclif, which is part of the built code, finds an environment that it can read. */
export async function execute(dir: string): Promise<void> {
  completeEnvironment(process.env)
  const { default: oclif } = await import('@oclif/core')
  await oclif.execute({ dir })
}
