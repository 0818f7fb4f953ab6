/** The first of some names that was given before, in lists that people write: only one of the two entries could hold. */
export const givenTwice = (names: ReadonlyArray<string>): string | undefined => {
  const given = new Set<string>()
  return names.find((name) => given.has(name) || !given.add(name))
}
