/** The asset and the amount of a request, which the engine judges, so that each refusal is a decision of its own. */
import * as Schema from "effect/Schema"
import * as Fields from "../http/Fields.js"

export const amountBody = {
  asset: Fields.Name.annotations({ description: "`USDC`." }),
  amountAtoms: Fields.Name.annotations({ description: "Digits: 10^-6 USDC." })
}
const Amount = Schema.Struct(amountBody)

const digits = /^[1-9][0-9]{0,15}$/

/** The asset and the amount as journaled; invalid values are journaled as they were sent. */
export const amountOf = ({ amountAtoms, asset }: typeof Amount.Type) => {
  const atoms = digits.test(amountAtoms) ? Number(amountAtoms) : Number.NaN
  const isAmount = Number.isSafeInteger(atoms)
  const isAsset = asset === "USDC"
  return {
    asset: isAsset ? "USDC" as const : "unsupported" as const,
    amountAtoms: isAmount ? atoms : -1,
    raw: isAmount && isAsset ? "" : JSON.stringify([asset, amountAtoms])
  }
}
