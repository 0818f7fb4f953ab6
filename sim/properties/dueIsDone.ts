/**
 * Liveness (L1 for what the venue promised to do by itself). Once faults have stopped, everything due is done although no client sends
 * anything: time passes for the engine, too.
 */
import * as Risk from "../model/NaiveRisk.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { broken, holds, type Property } from "./Property.js"

/** Milliseconds after its moment within which due work must be done, by a venue that is ready. */
const graceMs = 1_000

/** Work that was due at a time and is not done, in words; undefined where there is none. */
export const overdue = (model: NaiveVenue, atEpochMs: number): string | undefined => {
  for (const { index, session } of model.markets) {
    if (session === undefined || session.state === "closed") continue
    const due = session.state === "open" ? Math.min(session.cutoff, session.closes) : session.closes
    if (due <= atEpochMs) return `the session of market ${index} was ${session.state} until ${due}`
  }
  if (model.funds.nextDueEpochMs <= atEpochMs) return `a transfer that nobody approved was due at ${model.funds.nextDueEpochMs}`
  if (model.examined?.isBehind === true && model.atEpochMs <= atEpochMs) return "accounts were left to be held to their margins"
  if (model.halted) return undefined
  for (const account of model.accounts) {
    const due = account.cancelAllAtEpochMs
    if (due !== 0 && due <= atEpochMs) return `account ${account.index}'s dead-man switch was due at ${due}`
    for (const order of account.open) {
      if (order.expiresAtEpochMs !== 0 && order.expiresAtEpochMs <= atEpochMs) {
        return `order ${order.number} expired at ${order.expiresAtEpochMs}`
      }
    }
  }
  const late = model.markets.find(({ announced }) => announced !== undefined && announced.effectiveAtEpochMs <= atEpochMs)
  if (late !== undefined) return `the parameters announced of market ${late.index} were due at ${late.announced!.effectiveAtEpochMs}`
  const delisted = model.markets.find(({ delisting }) => delisting?.state === "announced" && delisting.effectiveAtEpochMs <= atEpochMs)
  if (delisted !== undefined) return `the delisting of market ${delisted.index} was due at ${delisted.delisting!.effectiveAtEpochMs}`
  if (model.nextSettlementEpochMs <= atEpochMs) return "a delisted market is to be settled"
  const look = model.areLooksPut ? undefined : model.looks.find((each) => each.atEpochMs <= atEpochMs)
  if (look === undefined && !model.areLooksPut && model.brackets.nextEpochMs <= atEpochMs) {
    return model.brackets.isBehind && model.atEpochMs > atEpochMs ? undefined : "a trigger has fired or is to be armed again"
  }
  return look === undefined ? undefined : `a look at account ${look.account.index} was due at ${look.atEpochMs}`
}

/**
 * A market without a mark of a second that was over by a time, in words. A market whose state has changed since then, because it was
 * stale, halted or not listed yet, may have come back this very moment and get its mark with the next record. While the clock is behind
 * the journal the engine's time stands still, and its marks with it.
 */
export const unmarked = (
  { model, movedAtEpochMs }: Pick<State, "model" | "movedAtEpochMs">,
  atEpochMs: number,
  nowEpochMs: number
): string | undefined => {
  if (model === undefined || model.halted || movedAtEpochMs > atEpochMs || model.atEpochMs > nowEpochMs) return undefined
  const market = model.markets.find((each) =>
    each.risk.liveSince <= atEpochMs && Risk.isDue(each, atEpochMs) && Risk.isGoing(each, nowEpochMs)
  )
  return market === undefined ? undefined : `market ${market.index} has had its last mark in second ${market.risk.second}`
}

interface State {
  /** The model, once there is one. */
  model: NaiveVenue | undefined
  /** When a market's status was last set. */
  movedAtEpochMs: number
}

export const dueIsDone: Property<State> = {
  name: "what-is-due-is-done",
  invariant: "L1",
  kind: "liveness",
  initial: () => ({ model: undefined, movedAtEpochMs: 0 }),
  observe: (state, seen) => {
    if (seen._tag === "Committed") {
      state.model = seen.model
      if (seen.record.command.kind === "SetMarketStatus") state.movedAtEpochMs = seen.record.atEpochMs
    }
    if (seen._tag !== "Finished" || state.model === undefined || !seen.ready) return holds
    const { clockEpochMs: now } = seen
    const what = overdue(state.model, now - graceMs) ?? unmarked(state, now - graceMs, now)
    return what === undefined ? holds : broken(`${what} and is not done at ${now}`)
  }
}
