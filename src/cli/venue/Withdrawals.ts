/**
 * What an operator has to know before withdrawals go on: letting them accepts as lacking whatever the stop that stands says. An operator's
 * own stop is nothing beside one by the venue, except that it ends an attempt to let them go on that is under way.
 */
import { acceptedBy } from "../../domain/Shortfall.js"
import { stopIn } from "../../edge/system/LedgerStanding.js"
import * as Format from "../replay/Format.js"
import { type Failure, Refused, type Standing } from "./Operator.js"

/** What the stop that stands says is lacking, atoms, 0 or below. */
const lackingIn = (withdrawals: string): number => Math.min(0, stopIn(withdrawals)?.differenceAtoms ?? 0)

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
 * Why withdrawals are not let go on, before the venue is asked for it; undefined where it is. What the venue's own stop says is lacking
 * has to be named, `accepted`, atoms, 0 or above: the venue then compares its books, and takes only what they show. Where withdrawals are
 * open already, the same command may have been sent before, and nothing is to be sent.
 */
export const refusalOf = ({ withdrawals }: Standing, accepted: number | undefined): string | undefined => {
  const lacking = lackingIn(withdrawals)
  if (withdrawals === "open" || lacking === 0 || accepted !== undefined) return undefined
  return `withdrawals are ${withdrawals}: letting them go on accepts that the treasury lacks ${usdc(lacking)}; once that is explained, `
    + `--accept ${Format.money(-lacking)}`
}

/** The venue's refusal with what `--accept` would have to say. */
export const advised = (failure: Failure): Failure => {
  if (failure._tag !== "Refused" || failure.nearest === undefined) return failure
  const { code, nearest, status, text } = failure
  const how = Number(nearest) === 0 ? "--accept 0" : `once that is explained, --accept ${nearest}`
  return new Refused({ status, code, nearest, text: `${text}; ${how}` })
}

/**
 * What is accepted now that they go on, and whether it is more than was named (`accepted`, as above) or what stood before said: the stop
 * may have become another.
 */
export const ofAllow = (
  before: Standing,
  after: Standing,
  accepted: number | undefined
): { readonly text: string; readonly isMore: boolean } => {
  const stop = stopIn(before.withdrawals)
  const said = stop === undefined ? before.acceptedAtoms : acceptedBy(stop, before.acceptedAtoms)
  const expected = accepted === undefined || stop === undefined ? said : -accepted
  const { acceptedAtoms, withdrawals } = after
  const what = acceptedAtoms === 0 ? "no shortfall is accepted" : `it is accepted that the treasury lacks ${usdc(acceptedAtoms)}`
  const isMore = acceptedAtoms < expected
  return {
    isMore,
    text: `withdrawals are ${withdrawals}, ${what}`
      + (isMore
        ? ": more than was told before, since the stop became another meanwhile. `withdrawals stop` and then `allow` revoke it"
        : "")
  }
}
