/** Amounts of USDC in operators' requests. */
import * as Units from "../../domain/Units.js"
import * as Errors from "../http/Errors.js"

const most = Units.formatDecimal(Number.MAX_SAFE_INTEGER, Units.moneyScale)

/** The refusal of a member that is no amount; `must` says what it has to be. */
export const noAmount = (member: string, atoms: number | Units.DecimalFault | undefined, must: string): Errors.Failure =>
  Errors.invalidRequest(`${member}: ${atoms === "too_large" ? `must be no more than ${most} USDC` : must}.`)
