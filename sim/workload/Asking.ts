/** A trader's calls other than trading: its name, its leverage, its triggers, every read, the lookup of a request's result, and fences. */
import type { Intent } from "../faults/Options.js"
import * as Calls from "./Calls.js"
import type { Draft } from "./Calls.js"
import { readAnything } from "./Reading.js"
import { nearestToItsEnd } from "./Repeating.js"
import type { Drafting, Seat } from "./Seat.js"

/** How often a trader fences something again whose fence lasts longer than a new one would: the old promise stands. */
const fencedAgainShare = 0.2

/** A fence of before once more, if the venue's retention has become shorter since; mostly undefined. */
export const fenceAgain = ({ fence, fenced, fencing, model, who }: Seat): Draft | undefined => {
  const lasting = fenced.filter((identity) => {
    const stands = "idempotencyKey" in identity
      ? model.fence(who.account, "key", identity.idempotencyKey)
      : model.fence(who.account, "clientOrderId", identity.clientOrderId)
    return (stands?.holdsUntilEpochMs ?? 0) > model.atEpochMs + model.retentionMs
  })
  return lasting.length > 0 && fencing.chance(fencedAgainShare) ? fence("fence", fencing.pick(lasting)) : undefined
}

/** Looks up one of the calls that it remembers. */
export const lookUpOfMine = ({ past, random, who }: Seat): Draft =>
  Calls.lookUp(who, "idempotencyKey", random.pick(past).idempotencyKey ?? "never")

/** How often a trader cancels the triggers of an open order instead of setting those of a position. */
const takenBackShare = 0.25

/** Cancels the triggers in a market, or in all, where an open order carries some: the order stays, without them. */
const takeBack = ({ model, nextKey, takingBack, who }: Seat, intent: Intent): Draft | undefined => {
  const brought = model.brackets.all.filter(({ account, isOrderOpen }) => isOrderOpen && account === who.account)
  if (brought.length === 0 || !takingBack.chance(takenBackShare)) return undefined
  const { parameters: { marketId } } = model.markets[takingBack.pick(brought).market]!
  return Calls.cancelAutoClose(who, intent, nextKey(), takingBack.chance(0.3) ? undefined : marketId)
}

export const asking = {
  read: readAnything,
  "name itself": ({ nextKey, random, who }, intent) =>
    Calls.setProfile(who, intent, nextKey(), random.pick(["patient_maker", "abc", "A-very_long-name-2000", "a.b", "xy"])),
  "set leverage": ({ model, nextKey, random, who }, intent) => {
    const { index, parameters: { marketId, maxLeverageX } } = random.pick(model.markets)
    // The leverage that the account can just afford, and the next lower one, which it cannot.
    const account = model.accounts[who.account]!
    const affords = (leverageX: number): boolean => {
      const margin = model.margin({ ...account, leverage: new Map(account.leverage).set(index, leverageX) }, undefined)
      return margin.marginEquity - margin.orderLoss >= margin.initialMargin
    }
    let least = 1
    while (least < maxLeverageX && !affords(least)) least++
    const leverageX = random.pick([1, 2, 3, least, least, Math.max(1, least - 1), maxLeverageX, maxLeverageX + 1, random.between(1, 60)])
    return Calls.setLeverage(who, intent, nextKey(), random.chance(0.03) ? "NONE-USDC-PERP" : marketId, leverageX)
  },
  preview: ({ random, who, wishes }) => {
    const market = wishes.tradable()
    const way = wishes.side()
    const wish = random.chance(0.2) ? wishes.badWish() : wishes.wish(market, { side: way, priceAtoms: wishes.crossing(market, way) })
    const draft = Calls.preview(who, wish)
    return random.chance(0.05) ? { ...draft, target: draft.target.replace(who.accountId, "acc_0") } : draft
  },
  "set auto-close": (seat, intent) => {
    const { model, nextKey, random, who, wishes } = seat
    const takenBack = takeBack(seat, intent)
    if (takenBack !== undefined) return takenBack
    const position = wishes.closing()
    const market = position === undefined || random.chance(0.03) ? random.pick(model.markets) : position.market
    const isLong = position === undefined ? random.chance(0.5) : position.side === "sell"
    const from = random.pick([market.mark, market.mark, market.lastPrice, market.risk.index])
    const marketId = random.chance(0.02) ? "NONE-USDC-PERP" : market.parameters.marketId
    return Calls.setAutoClose(who, intent, nextKey(), marketId, wishes.autoClose(market, isLong, from))
  },
  "cancel auto-close": ({ model, nextKey, random, who }, intent) =>
    Calls.cancelAutoClose(who, intent, nextKey(), random.chance(0.3) ? undefined : random.pick(model.markets).parameters.marketId),
  "look up": (seat) => {
    const { clientOrderIdAhead, past, random, who, wishes } = seat
    const order = wishes.ofMine((each) => each.clientOrderId !== "")
    const draft = past.length === 0 ? undefined : random.chance(0.4) ? nearestToItsEnd(seat) : random.pick(past)
    const ways: ReadonlyArray<() => Draft> = [
      () => Calls.lookUp(who, "idempotencyKey", draft?.idempotencyKey ?? "never"),
      () => Calls.lookUp(who, "idempotencyKey", `never-${random.below(1_000)}`),
      () => Calls.lookUp(who, "clientOrderId", order?.clientOrderId ?? "never"),
      () => Calls.lookUp(who, "clientOrderId", clientOrderIdAhead(1_000))
    ]
    return random.pick(ways)()
  },
  fence: ({ clientOrderIdAhead, fence, fenced, keyAhead, past, random, wishes }, intent) => {
    const order = wishes.ofMine((each) => each.clientOrderId !== "")
    const ahead = random.below(6)
    const identities: ReadonlyArray<Calls.Fenced> = fenced.length > 0 && random.chance(0.4) ? fenced : [
      { idempotencyKey: past.length === 0 ? "never" : random.pick(past).idempotencyKey ?? "never" },
      { idempotencyKey: keyAhead(1 + ahead) },
      { clientOrderId: order?.clientOrderId ?? "never" },
      { clientOrderId: clientOrderIdAhead(ahead) }
    ]
    return fence(intent, random.pick(identities))
  }
} satisfies Partial<Record<Intent, Drafting>>
