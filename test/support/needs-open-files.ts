/** Skips a test where the process may not have as many files and sockets open at once as it needs. */
export function needsOpenFiles(context: Mocha.Context, needed: number): void {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files: { soft: number | string } } }
  const allowed = userLimits?.open_files.soft ?? 'unlimited'
  if (allowed === 'unlimited' || Number(allowed) >= needed) return
  console.log(`      skipped: ${needed} open files are needed, and ${allowed} are allowed (ulimit -n)`)
  context.skip()
}
