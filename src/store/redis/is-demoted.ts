/**
 * Returns true for the answer of a server that has become a replica: it keeps its connections, and takes no writes. To a command that
 * waits on it, it says `UNBLOCKED`; where it lost its primary, `MASTERDOWN`.
 */
export function isDemoted({ message }: Error): boolean {
  return /^(READONLY|UNBLOCKED|MASTERDOWN) /.test(message)
}
