/** Affiliates' referral codes. */
import { assert } from "./Assert.js"
import { codeLetters } from "./Letters.js"

const codeLength = 8
const codes = codeLetters.length ** codeLength

/** Coprime to the number of codes, so that no two accounts share one; and large, so that consecutive accounts get dissimilar codes. */
const step = 6_364_136_223
const first = 141_592_653_589

/** An account's code: always the same. */
export const referralCode = (account: number): string => {
  let rest = (account * step + first) % codes
  assert(Number.isSafeInteger(account * step + first), "an account's number is far from where its code would be inexact")
  let code = ""
  for (let at = 0; at < codeLength; at++) {
    code += codeLetters[rest % codeLetters.length]!
    rest = Math.floor(rest / codeLetters.length)
  }
  return code
}
