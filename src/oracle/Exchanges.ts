/** The exchanges configured as sources of an index, and their names for an underlying. */
import * as Either from "effect/Either"

/** One exchange. */
export interface ExchangeSetting {
  /** Its name in the `ccxt` package. */
  readonly id: string
  readonly weight: number
  /** The asset in which it quotes, where that differs from the underlying's name. */
  readonly quote: string | undefined
}

/** Most exchanges of one index. */
const mostExchanges = 16

const settingPattern = /^([a-z0-9]{1,32})(?::([1-9][0-9]{0,2}))?(?::([A-Z][A-Z0-9]{0,11}))?$/

/** `binance:1:USDT,kraken:2`: names, weights (1 by default), and quote assets where they differ. Left: what is wrong with the text. */
export const parseExchanges = (text: string): Either.Either<ReadonlyArray<ExchangeSetting>, string> => {
  const found: Array<ExchangeSetting> = []
  for (const part of text.split(",").map((each) => each.trim())) {
    const [, id, weight = "1", quote] = settingPattern.exec(part) ?? []
    if (id === undefined) return Either.left(`${part} is not exchange:weight:quote`)
    if (found.some((each) => each.id === id)) return Either.left(`${id} is named twice`)
    found.push({ id, weight: Number(weight), quote })
  }
  if (found.length < 2) return Either.left("at least two exchanges are needed: one alone has nobody to contradict it")
  return found.length > mostExchanges ? Either.left(`at most ${mostExchanges} exchanges are asked`) : Either.right(found)
}

const isWeb = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && (url.protocol === "http:" || url.protocol === "https:") && url.search === "" && url.hash === ""
}

/**
 * `kraken=http://127.0.0.1:9000,binance=https://mirror.example/b`: URLs to use instead of exchanges' own. Left: what is wrong with the
 * text.
 */
export const parseUrls = (
  text: string,
  exchanges: ReadonlyArray<ExchangeSetting>
): Either.Either<ReadonlyMap<string, string>, string> => {
  const found = new Map<string, string>()
  for (const part of text.split(",").map((each) => each.trim())) {
    const at = part.indexOf("=")
    const [id, url] = [part.slice(0, Math.max(0, at)), part.slice(at + 1).replace(/\/+$/, "")]
    if (!exchanges.some((each) => each.id === id)) return Either.left(`${part} names none of the exchanges`)
    if (!isWeb(url)) return Either.left(`${part} has no http or https address`)
    found.set(id, url)
  }
  return Either.right(found)
}

/** The quote asset of an underlying that names none. */
const usualQuote = "USD"

/** An exchange's symbol for an underlying: `BTC/USD`, or with the exchange's own quote asset. */
export const symbolOf = ({ quote }: ExchangeSetting, underlyingSymbol: string): string => {
  const [base = "", named = usualQuote] = underlyingSymbol.split("/")
  return `${base}/${quote ?? named}`
}
