/** Codes by which affiliates are named: of letters that are not mistaken for each other and make no words. */
import { assert } from "./Assert.js"

const alphabet = "BCDFGHJKLMNPQRSTVWXZ23456789"
const letters = 8
const codes = alphabet.length ** letters

/** Shares no factor with how many codes there are, so that no two accounts have the same; and leaps, so that neighbours look apart. */
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
