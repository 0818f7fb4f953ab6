/**
 * What is dear to make and the same each time, made once for each key. Of so many keys at most: where there are more, all are made anew
 * as they are asked for.
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
