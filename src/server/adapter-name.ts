/** What a dotted path or `./file.ts#Name` calls an adapter. */
export function adapterName(path: string): string {
  return path.split(/[.#]/).at(-1) ?? path
}
