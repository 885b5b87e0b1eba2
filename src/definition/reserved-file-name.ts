/** Device names of Windows: with any extension they are no files there ("Naming Files, Paths, and Namespaces"). */
const RESERVED = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i

/** Reports whether Windows keeps a file name for itself. */
export function isReservedFileName(name: string): boolean {
  return RESERVED.test(name)
}
