/**
 * What an operator has to know before withdrawals go on: letting them accepts as lacking whatever the stop that stands says. Of two stops
 * the first stands, so an operator's own is nothing beside one by the venue.
 */
import { lackingIn } from "../../edge/system/LedgerStanding.js"
import * as Format from "../replay/Format.js"

/** How `/readyz` says that withdrawals stand. */
export interface Standing {
  /** `open`, or why they are stopped. */
  readonly withdrawals: string
  /** What is accepted as lacking, atoms, 0 or below. */
  readonly acceptedAtoms: number
}

const usdc = (lackingAtoms: number): string => `${Format.money(Math.abs(lackingAtoms))} USDC`

/** What to know of a stop that was just asked for; empty where nothing else stands. */
export const ofStop = ({ withdrawals }: Standing): ReadonlyArray<string> => {
  const lacking = lackingIn(withdrawals)
  return lacking === 0 ? [] : [
    `withdrawals are ${withdrawals}: the venue stopped them itself before this, and that stop stands in place of yours. `
    + `\`withdrawals allow\` would accept that the treasury lacks ${usdc(lacking)}, and revoke nothing`
  ]
}

/**
 * Why withdrawals are not let go on; undefined where they may. `accepted`: the shortfall that the operator accepts, atoms, 0 or above.
 * Where they are open already, the same command may have been sent before, and nothing is to be sent.
 */
export const refusalOf = ({ withdrawals }: Standing, accepted: number | undefined): string | undefined => {
  const lacking = lackingIn(withdrawals)
  if (withdrawals === "open" || (accepted ?? 0) === -lacking) return undefined
  const accepts = lacking === 0
    ? "letting them go on accepts no shortfall, and revokes one that was accepted before"
    : `letting them go on accepts that the treasury lacks ${usdc(lacking)}`
  const given = accepted === undefined ? "" : `, and not ${usdc(accepted)}`
  const how = lacking === 0 ? "leave --accept out" : `once that is explained, --accept ${Format.money(-lacking)}`
  return `withdrawals are ${withdrawals}: ${accepts}${given}; ${how}`
}

/** What is accepted now that they go on, and whether it is more than what stood before said: the stop may have become another. */
export const ofAllow = (before: Standing, after: Standing): { readonly text: string; readonly isMore: boolean } => {
  const isOperators = before.withdrawals !== "open" && lackingIn(before.withdrawals) === 0
  const expected = isOperators ? 0 : Math.min(before.acceptedAtoms, lackingIn(before.withdrawals))
  const { acceptedAtoms, withdrawals } = after
  const accepted = acceptedAtoms === 0 ? "no shortfall is accepted" : `it is accepted that the treasury lacks ${usdc(acceptedAtoms)}`
  const isMore = acceptedAtoms < expected
  return {
    isMore,
    text: `withdrawals are ${withdrawals}, ${accepted}`
      + (isMore
        ? ": more than was told before, since the stop became another meanwhile. `withdrawals stop` and then `allow` revoke it"
        : "")
  }
}
