/**
 * A position's take-profit and stop-loss, as its owner edits them. Setting them replaces everything that is armed, which may be several
 * pairs for parts: those are removed only after the owner has seen them and confirmed it.
 */
import type * as Contract from "../Contract.js"
import { decimal } from "../Words.js"
import { closing, type Fault, type Terms } from "./Draft.js"

const legs = ["takeProfit", "stopLoss"] as const
export type Leg = typeof legs[number]

type Trigger = NonNullable<Contract.TriggerPair[Leg]>

/** What is armed for one leg. */
export interface Armed {
  /** The single trigger for the whole position, or for what was the whole position when it was set. */
  readonly whole: Trigger | undefined
  /** The quantity that it closes, where the position has grown since and it closes less. */
  readonly lessQuantity: string | undefined
  /** Otherwise the existing triggers: one for a part, or several. */
  readonly parts: ReadonlyArray<{ readonly quantity: string; readonly trigger: Trigger }>
}

export type Exits = Readonly<Record<Leg, Armed>>

/** What is entered for one leg. `isNone`: the owner confirms that triggers for parts are to be removed. */
export interface Entry {
  readonly text: string
  readonly isNone: boolean
}

export type Entries = Readonly<Record<Leg, Entry>>

const armedOf = (leg: Leg, triggers: ReadonlyArray<Contract.TriggerPair>, quantityAtoms: string): Armed => {
  // A pair of an order that has opened nothing yet closes nothing, and is not replaced.
  const armed = triggers.filter(({ status, [leg]: trigger }) => status !== "pending" && trigger !== undefined)
  const [first] = armed
  // A pair without an order was set for the whole position of that time.
  const isWhole = first !== undefined && armed.length === 1 && (first.orderId === undefined || first.quantityAtoms === quantityAtoms)
  return isWhole
    ? { whole: first[leg], lessQuantity: BigInt(first.quantityAtoms) < BigInt(quantityAtoms) ? first.quantity : undefined, parts: [] }
    : { whole: undefined, lessQuantity: undefined, parts: armed.map(({ quantity, [leg]: trigger }) => ({ quantity, trigger: trigger! })) }
}

/** What is armed for a position, among its market's pairs. */
export const exitsOf = (triggers: ReadonlyArray<Contract.TriggerPair>, { quantityAtoms }: Contract.Position): Exits => ({
  takeProfit: armedOf("takeProfit", triggers, quantityAtoms),
  stopLoss: armedOf("stopLoss", triggers, quantityAtoms)
})

/** The initial contents of the fields. */
export const entriesOf = (shown: Exits): Entries => {
  const entry = ({ whole }: Armed): Entry => ({ text: whole?.triggerPrice ?? "", isNone: false })
  return { takeProfit: entry(shown.takeProfit), stopLoss: entry(shown.stopLoss) }
}

const isTrue = (text: string | false): text is string => text !== false

/** Further terms of a leg beside its price, or what exists instead of one for the whole position; empty where there is nothing to say. */
export const noteOf = ({ lessQuantity, parts, whole }: Armed): string => {
  if (parts.length > 0) {
    return `Set for parts: ${parts.map(({ quantity, trigger }) => `${decimal(quantity)} at ${decimal(trigger.triggerPrice)}`).join(", ")}.`
  }
  if (whole === undefined) return ""
  const terms = [
    whole.triggerBy !== "mark" && `by the ${whole.triggerBy} price`,
    whole.limitPrice !== undefined && `at ${decimal(whole.limitPrice)} at worst`
  ].filter(isTrue)
  return [
    lessQuantity !== undefined && `Closes ${decimal(lessQuantity)} alone, of a position that has grown: saved here, it closes all of it.`,
    terms.length > 0 && `Set ${terms.join(", ")}. Another price here goes by the mark, and closes at the market.`
  ].filter(isTrue).join(" ")
}

const texts = ({ lessQuantity, parts, whole }: Armed): string => JSON.stringify([whole, lessQuantity, parts])

/** `price`: the price to be set for the leg, undefined for none. */
const faultOf = (leg: Leg, { isNone, text }: Entry, price: string | undefined, shown: Armed, now: Armed): ReadonlyArray<Fault> => {
  const isEmpty = text.trim() === ""
  const isKept = price !== undefined && price === shown.whole?.triggerPrice
  // A different price replaces whatever is set.
  if (!isEmpty && !isKept) return []
  const fault = (message: string): ReadonlyArray<Fault> => [{ field: leg, message, isMissing: true }]
  if (isEmpty && shown.parts.length > 0 && !isNone) return fault("Enter a price for the whole position, or say that it is to have none.")
  const isSetNow = now.whole !== undefined || now.parts.length > 0
  // An unchanged price would undo a change made elsewhere, or rearm a trigger that is gone.
  return (isKept || isSetNow) && texts(now) !== texts(shown)
    ? fault("What is set has changed meanwhile: close this and open it again to see it.")
    : []
}

/**
 * The triggers to be set, undefined for none, or what prevents setting them. `shown`: what was armed when the fields were opened; `now`:
 * what is armed now. An unchanged price keeps its trigger price type and its worst price.
 */
export const chosen = (entries: Entries, shown: Exits, now: Exits, terms: Terms): ReturnType<typeof closing> => {
  const { autoClose, faults } = closing(entries.takeProfit.text, entries.stopLoss.text, terms)
  const kept = legs.flatMap((leg) => {
    const set = autoClose?.[leg]
    const { whole } = shown[leg]
    if (set === undefined) return []
    if (whole === undefined || whole.triggerPrice !== set.triggerPrice) return [[leg, set]]
    const { limitPrice, triggerBy, triggerPrice } = whole
    return [[leg, { triggerPrice, triggerBy, ...(limitPrice === undefined ? undefined : { limitPrice }) }]]
  })
  return {
    faults: [...faults, ...legs.flatMap((leg) => faultOf(leg, entries[leg], autoClose?.[leg]?.triggerPrice, shown[leg], now[leg]))],
    autoClose: autoClose === undefined ? undefined : Object.fromEntries(kept)
  }
}
