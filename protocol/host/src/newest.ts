/**
 * Puts an entry at the end of a map, and removes the oldest one when there are more than `most`. A map that gets all its
 * entries by this function has the newest `most` of them.
 * @returns the value of the entry that was removed
 */
export function putNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): Value | undefined {
  map.delete(key)
  map.set(key, value)
  if (map.size <= most) return undefined
  const [oldest] = map
  if (oldest === undefined) return undefined
  map.delete(oldest[0])
  return oldest[1]
}
