/** Money, sizes and prices as they are sent: the decimal string and its atoms. */
import * as Units from "../../domain/Units.js"

/** A member in both forms, at a scale. */
export const inBoth = <Name extends string>(name: Name, atoms: number | bigint, scale: number) => {
  const text = { [name]: Units.formatDecimal(atoms, scale), [`${name}Atoms`]: String(atoms) }
  return text as { readonly [key in Name | `${Name}Atoms`]: string }
}

/** Money in both forms. */
export const money = <Name extends string>(name: Name, atoms: number | bigint) => inBoth(name, atoms, Units.moneyScale)
