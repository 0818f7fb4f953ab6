/** Take-profit and stop-loss, converted from the library's terms to the venue's: for an order, and for a whole position. */
import { ArgumentsRequired, BadRequest, type Dict, InvalidOrder, NotSupported, type Num, type OrderSide, Precise } from "ccxt"

/** Whether an id is that of a take-profit and stop-loss pair, rather than of an order. */
export const isTriggerId = (id: unknown): boolean => typeof id === "string" && id.startsWith("trg_")

/** Whether the library's parameters ask for trigger pairs, and the remaining parameters. */
export const askedFor = ({ stop, trigger, ...rest }: Dict): { readonly isTrigger: boolean; readonly rest: Dict } => {
  for (const [name, value] of Object.entries({ stop, trigger })) {
    if (value !== undefined && typeof value !== "boolean") throw new BadRequest(`${name} is true or false, not ${String(value)}`)
  }
  return { isTrigger: trigger === true || stop === true, rest }
}

/** The first member that has a value. */
export const firstGiven = (params: Dict): string | undefined => Object.keys(params).find((name) => params[name] !== undefined)

/** Members of `params` that close a position when a price is reached. */
const closing = ["triggerPrice", "stopLossPrice", "takeProfitPrice"] as const

/** Whether this is not an order, but closes a whole position when a price is reached. */
export const isClosing = (params: Dict): boolean => closing.some((name) => params[name] !== undefined)

/** Prices that a trigger may watch, in the library's names. */
const priceTypes = ["mark", "last", "index"]

/** Converts a price to the venue's form. */
type Priced = (value: unknown) => string

const triggerBy = (type: unknown): Dict => {
  if (type === undefined) return {}
  if (!priceTypes.includes(type as string)) throw new NotSupported(`triggers go by ${priceTypes.join(", ")}, not ${String(type)}`)
  return { triggerBy: type }
}

const trigger = (price: unknown, type: unknown, limit: unknown, priced: Priced): Dict => ({
  triggerPrice: priced(price),
  ...triggerBy(type),
  ...(limit === undefined ? undefined : { limitPrice: priced(limit) })
})

/** The take-profit or stop-loss of an order, in the library's form: `{ triggerPrice, price?, triggerPriceType? }`, or just a price. */
const own = (name: string, value: unknown, priced: Priced): Dict | undefined => {
  if (value === undefined) return undefined
  if (typeof value !== "object" || value === null) return trigger(value, undefined, undefined, priced)
  const { price, priceType, triggerPrice, triggerPriceType = priceType, type: _type, ...rest } = value as Dict
  const odd = firstGiven(rest)
  if (odd !== undefined) throw new NotSupported(`a ${name} does not take ${odd}`)
  if (triggerPrice === undefined) throw new ArgumentsRequired(`a ${name} requires a triggerPrice`)
  return trigger(triggerPrice, triggerPriceType, price, priced)
}

/** `autoClose` of an order with the library's `stopLoss` and `takeProfit`; undefined where it has neither. */
export const attached = ({ stopLoss, takeProfit }: Dict, priced: Priced): Dict | undefined => {
  if (stopLoss === undefined && takeProfit === undefined) return undefined
  return {
    ...(takeProfit === undefined ? undefined : { takeProfit: own("takeProfit", takeProfit, priced) }),
    ...(stopLoss === undefined ? undefined : { stopLoss: own("stopLoss", stopLoss, priced) })
  }
}

/** From where a price is to reach a `triggerPrice`, in the library's names. */
const directions = ["ascending", "descending"]

/** Refuses a trigger price that would not close a position, or of which nothing says which leg it is. */
export const check = ({ reduceOnly, stopLossPrice, takeProfitPrice, triggerDirection, triggerPrice }: Dict): void => {
  if (triggerPrice === undefined) return
  if (reduceOnly !== true) throw new NotSupported("a triggerPrice closes a position, with reduceOnly, and opens none")
  if (stopLossPrice !== undefined || takeProfitPrice !== undefined) throw new InvalidOrder("a triggerPrice stands alone")
  if (!directions.includes(triggerDirection)) {
    throw new NotSupported(
      "a triggerPrice alone may be a stop-loss or a take-profit: name it stopLossPrice or takeProfitPrice, "
        + `or give a triggerDirection, ${directions.join(" or ")}`
    )
  }
}

/**
 * The venue's body for closing a position, with `limit` as the worst price of either leg. Whether a `triggerPrice` is a take-profit or a
 * stop-loss follows from its direction and from `side`, that of the order which closes: the mark may have passed it already.
 */
export const autoClose = (params: Dict, side: OrderSide, limit: Num, priced: Priced): Dict => {
  const { reduceOnly: _reduceOnly, stopLossPrice, takeProfitPrice, triggerPrice, triggerPriceType, ...others } = params
  const { triggerDirection, ...ofTrigger } = others
  const rest = triggerPrice === undefined ? others : ofTrigger
  const odd = firstGiven(rest)
  if (odd !== undefined) throw new NotSupported(`what closes a position does not take ${odd}`)
  const made = (price: unknown): Dict => trigger(price, triggerPriceType, limit, priced)
  if (triggerPrice === undefined) {
    return {
      ...(takeProfitPrice === undefined ? undefined : { takeProfit: made(takeProfitPrice) }),
      ...(stopLossPrice === undefined ? undefined : { stopLoss: made(stopLossPrice) })
    }
  }
  const isProfit = (triggerDirection === "ascending") === (side === "sell")
  return isProfit ? { takeProfit: made(triggerPrice) } : { stopLoss: made(triggerPrice) }
}

const legs = ["takeProfit", "stopLoss"] as const

/** Whether a body names only one of the two legs. */
export const isPartial = (body: Dict): boolean => legs.some((leg) => body[leg] === undefined)

/** Whether a listed pair can close something now: that of an order which has opened nothing yet cannot. */
export const isArmed = ({ status }: Dict): boolean => status !== "pending"

/** Whether a pair closes a whole position. One that was set for the whole position covers only a part once the position has grown. */
export const isOfAll = (held: string) => ({ quantity }: Dict): boolean => Precise.stringEq(quantity, held)

/**
 * A body completed with the leg that it does not name, as that is set for the whole position; undefined where one body cannot keep that
 * leg, because what is set is for a part, or differs. `armed`: the pairs that the body would replace; `isWhole`: whether one of them is for
 * the whole position.
 */
export const withKept = (body: Dict, armed: ReadonlyArray<Dict>, isWhole: (pair: Dict) => boolean): Dict | undefined => {
  const missing = legs.find((leg) => body[leg] === undefined)
  const [set, ...others] = armed.filter((pair) => missing !== undefined && pair[missing] !== undefined)
  if (missing === undefined || set === undefined) return body
  if (others.length > 0 || !isWhole(set)) return undefined
  const { limitPrice, triggerBy, triggerPrice }: Dict = set[missing]
  return { ...body, [missing]: { triggerPrice, triggerBy, ...(limitPrice === undefined ? undefined : { limitPrice }) } }
}
