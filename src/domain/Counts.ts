/** Counts by name, in maps that hold only names whose count is not zero. */

/** Changes a count; a count of zero is removed. */
export const change = <Name>(counts: Map<Name, number>, name: Name, by: number): void => {
  const counted = (counts.get(name) ?? 0) + by
  if (counted === 0) counts.delete(name)
  else counts.set(name, counted)
}
