/** An account's money as it is sent. */
import * as Units from "../../domain/Units.js"

/** Money in both forms: the decimal string and its atoms. */
export const money = <Name extends string>(name: Name, atoms: number) => {
  const text = { [name]: Units.formatDecimal(atoms, Units.moneyScale), [`${name}Atoms`]: String(atoms) }
  return text as { readonly [key in Name | `${Name}Atoms`]: string }
}
