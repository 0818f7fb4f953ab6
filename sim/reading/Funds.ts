/** Requests about money on the ledger, as the contract reads them: which they are, and whose passkey speaks in them. */
import * as Bodies from "./Bodies.js"
import { isObject } from "./Bodies.js"

const places = /^\/v1\/accounts\/[^/]+\/(?:deposits|withdrawals|ledger-party)(?:[/?]|$)/

/** Whether a request is about money on the ledger. */
export const isOfFunds = (target: string): boolean => places.test(target)

/** The passkey that approves in a request's body; undefined where none does. */
export const approverIn = (target: string, body: string): string | undefined => {
  if (!isOfFunds(target) || !body.includes("\"firstFactor\"")) return undefined
  const parsed = Bodies.parse(body)?.value
  const factor = isObject(parsed) ? parsed["firstFactor"] : undefined
  const assertion = isObject(factor) ? factor["credentialAssertion"] : undefined
  const credentialId = isObject(assertion) ? assertion["credId"] : undefined
  return typeof credentialId === "string" ? credentialId : undefined
}
