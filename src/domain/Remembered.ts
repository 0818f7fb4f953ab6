/**
 * Caches the results of a costly pure function by key. At most `most` results are kept: when there are more, all are dropped and made again
 * as they are needed.
 */
export const remembered = <K, A>(most: number, make: (key: K) => A): (key: K) => A => {
  const known = new Map<K, A>()
  return (key) => {
    const before = known.get(key)
    if (before !== undefined) return before
    if (known.size >= most) known.clear()
    const made = make(key)
    known.set(key, made)
    return made
  }
}
