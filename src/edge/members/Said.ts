/** Descriptions of members of requests and answers, in words and with units. */

/** The unit of a number in both forms: the decimal, and integer atoms. */
export type Unit = "price" | "size" | "money"

/** By member name; where a name has several meanings, by the name of the containing type and its own: `Order.status`. */
export type Said = Readonly<Record<string, string | readonly [Unit, string]>>

/** The members that each of some types has, described alike. */
export const ofEach = (types: ReadonlyArray<string>, said: Said): Said =>
  Object.fromEntries(types.flatMap((type) => Object.entries(said).map(([name, description]) => [`${type}.${name}`, description])))

const units: Readonly<Record<Unit, { readonly decimal: string; readonly atoms: string }>> = {
  price: { decimal: "USDC for one unit of the underlying", atoms: "price atoms, 10^-`priceScale` USDC each" },
  size: { decimal: "units of the underlying", atoms: "size atoms, 10^-`quantityScale` of the underlying each" },
  money: { decimal: "USDC", atoms: "money atoms, 10^-6 USDC each" }
}

const atoms = "Atoms"

/**
 * Looks a member up in the tables, the first match counts. `parents` are the containing types, the nearest first: a description for
 * a parent precedes a general one. `*Atoms` gets the description of its decimal, with the other unit.
 */
export const look = (tables: ReadonlyArray<Said>, parents: ReadonlyArray<string>, name: string): string | undefined => {
  const isAtoms = name.endsWith(atoms)
  for (const each of isAtoms ? [name, name.slice(0, -atoms.length)] : [name]) {
    for (const key of [...parents.map((parent) => `${parent}.${each}`), each]) {
      const found = tables.find((said) => said[key] !== undefined)?.[key]
      if (found === undefined) continue
      if (typeof found === "string") return found
      const [unit, text] = found
      return `${text} In ${units[unit][isAtoms ? "atoms" : "decimal"]}.`
    }
  }
  return undefined
}
