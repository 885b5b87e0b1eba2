/** Returns the name of an adapter given as a dotted path or `./file.ts#Name`. */
export function adapterName(path: string): string {
  return path.split(/[.#]/).at(-1) ?? path
}
