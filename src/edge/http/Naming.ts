/**
 * Names sent by clients, and what they may have meant. A name is only repeated if it looks like one: a key, a token or a password
 * in the wrong place is never echoed.
 */

/** The longest name that is repeated, in characters. */
const maxLength = 32
/** Sequences that occur in no word: this many consonants, or digits, in a row. */
const maxConsonants = 5
const maxDigits = 2
/** The longest text that is compared with names, in characters. */
const maxCompared = 64

const letters = /^[A-Za-z][A-Za-z0-9_-]*$/
const wordStart = /[A-Z]?[a-z]+|[A-Z]+|[0-9]+/g
const consonants = new RegExp(`[b-df-hj-np-tv-xz]{${maxConsonants},}`)

/** Whether a text looks like the name of a member or a parameter: a few words of letters in one of the usual spellings. */
export const isPlausible = (text: string): boolean => {
  if (text.length > maxLength || !letters.test(text)) return false
  const words = text.match(wordStart) ?? []
  const digits = words.filter((word) => word.charCodeAt(0) < 58)
  if (digits.join("").length > maxDigits) return false
  const spelled = words.filter((word) => word.charCodeAt(0) >= 58)
  // Random strings change case frequently; words do not.
  return spelled.length <= 5 && text.length >= 3 * (spelled.length - 1) && !spelled.some((word) => consonants.test(word.toLowerCase()))
}

/** The edit distance of two texts: letters changed, inserted, removed, or swapped with their neighbour. */
const distance = (one: string, other: string): number => {
  let before: ReadonlyArray<number> = []
  let last: ReadonlyArray<number> = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let row = 1; row <= one.length; row++) {
    const next = [row]
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      const isExchanged = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      next[column] = Math.min(
        last[column]! + 1,
        next[column - 1]! + 1,
        last[column - 1]! + (isSame ? 0 : 1),
        isExchanged ? before[column - 2]! + 1 : Infinity
      )
    }
    before = last
    last = next
  }
  return last[other.length]!
}

/** A name without the differences between spellings. */
export const folded = (name: string): string => name.replaceAll(/[_-]/g, "").toLowerCase()

/** The distance of two folded names, at most two letters; undefined where they differ more. */
export const far = (sent: string, other: string): number | undefined => {
  // Nearly every other name is within a few letters of a short one.
  if (sent === other) return sent.length > 2 ? 0 : undefined
  if (sent.length > maxCompared || Math.abs(sent.length - other.length) > 2 || sent.length <= 2) return undefined
  const letters = distance(sent, other)
  return letters <= 1 || (letters === 2 && sent.length > 5) ? letters : undefined
}

/** What other venues call the members known here. */
const elsewhere: Readonly<Record<string, ReadonlyArray<string>>> = {
  quantity: ["size", "qty", "amount", "sz", "origqty", "contracts"],
  amount: ["size", "qty", "quantity", "sz"],
  marketId: ["symbol", "market", "instrument", "instid", "pair", "coin"],
  symbol: ["market", "marketid", "instrument", "instid", "pair"],
  clientOrderId: ["clientid", "clordid", "newclientorderid", "cloid", "clientoid", "origclientorderid"],
  orderType: ["type", "ordertype", "ordtype"],
  type: ["ordertype", "ordtype"],
  timeInForce: ["tif"],
  price: ["limitprice", "px", "limit"],
  triggerPrice: ["stopprice", "stoppx", "triggerpx"],
  autoClose: ["stopprice", "triggerprice", "stoploss", "takeprofit", "stoplossprice", "takeprofitprice"],
  expiresAtEpochMs: ["expiration", "expiretime", "goodtilldate", "gtd", "expiry"],
  selfTradePrevention: ["stp", "selftradepreventionmode", "stpmode"],
  status: ["state"],
  limit: ["pagesize", "size", "count"],
  cursor: ["page", "after", "next", "pagetoken"],
  since: ["starttime", "from", "start"]
}

/** The known name that was most likely meant; undefined where none is near. */
export const meant = (text: string, known: Iterable<string>): string | undefined => {
  if (text.length > maxCompared) return undefined
  const sent = folded(text)
  let best: string | undefined
  let least = Infinity
  for (const name of known) {
    const other = folded(name)
    const found = elsewhere[name]?.includes(sent) === true ? Math.min(1, far(sent, other) ?? 1) : far(sent, other)
    if (found !== undefined && found < least) {
      best = name
      least = found
    }
  }
  return best
}
