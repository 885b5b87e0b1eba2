/**
 * Says of a server that could not listen what is wrong with its port; the message of any other error stays as it is.
 *
 * @param command to try with another port
 */
export function describePortError(
  { code, message, port }: Error & { readonly code?: string; readonly port?: number },
  command: string,
): { readonly message: string; readonly suggestions: readonly string[] } {
  if (port === undefined || (code !== 'EADDRINUSE' && code !== 'EACCES')) return { message, suggestions: [] }
  const problem = code === 'EADDRINUSE' ? 'is in use' : 'needs more rights than this user has'
  const other = code === 'EADDRINUSE' ? port + 1 : 8000
  return {
    message: `Port ${port} ${problem}.`,
    suggestions: [`Choose another: agent-host ${command} --port ${other}`],
  }
}
