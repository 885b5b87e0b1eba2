/** A map, weak or not, or one that forgets. */
interface KeyedValues<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): unknown
}

/** Returns the value of a key. Makes and adds one if the key has none. */
export function getOrAdd<K, V>(map: KeyedValues<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}
