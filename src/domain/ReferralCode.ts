/** Affiliates' referral codes, from letters that cannot be mistaken for each other and that form no words. */
import { assert } from "./Assert.js"

const alphabet = "BCDFGHJKLMNPQRSTVWXZ23456789"
const letters = 8
const codes = alphabet.length ** letters

/** Coprime to the number of codes, so that no two accounts share one; and large, so that consecutive accounts get dissimilar codes. */
const step = 6_364_136_223
const first = 141_592_653_589

/** An account's code: always the same. */
export const referralCode = (account: number): string => {
  let rest = (account * step + first) % codes
  assert(Number.isSafeInteger(account * step + first), "an account's number is far from where its code would be inexact")
  let code = ""
  for (let at = 0; at < letters; at++) {
    code += alphabet[rest % alphabet.length]!
    rest = Math.floor(rest / alphabet.length)
  }
  return code
}
