/** Returns the list that modules of a test keep under a name of `globalThis`: the one place that they share with the test. */
export function globalList(name: string): unknown[] {
  const list: unknown = Reflect.get(globalThis, name)
  return Array.isArray(list) ? list : []
}
