/** A take-profit and a stop-loss in requests and answers: schemas, hand-written decoders, and conversion to the market's grid. */
import * as Schema from "effect/Schema"
import * as Market from "../../domain/Market.js"
import { Refusal } from "../../domain/Refusal.js"
import { mark, type TriggerBy, triggerPrices } from "../../domain/Trigger.js"
import * as Units from "../../domain/Units.js"
import type { MarketView } from "../../engine/Reads.js"
import { type AutoClose, isSet, noAutoClose, noTrigger, type Trigger } from "../../operations/accounts/AutoClose.js"
import * as Errors from "../http/Errors.js"
import * as Fields from "../http/Fields.js"
import * as Grid from "./Grid.js"
import { carries, decimal, Fault, faultOf, nested, oneOf, shape } from "../http/Shapes.js"

const TriggerBy = Schema.Literal(...triggerPrices)

/** One trigger of a request. */
const TriggerBody = Schema.Struct({
  triggerPrice: Fields.DecimalInput,
  triggerBy: Fields.optional(TriggerBy),
  limitPrice: Fields.optional(Fields.DecimalInput)
}).annotations({
  identifier: "TriggerBody",
  description: "`triggerBy` names the price that it waits for, the mark unless said otherwise. `limitPrice` is the worst price that its "
    + "order takes; without one it takes what lies within the price band."
})
type TriggerBody = typeof TriggerBody.Type

const needsTrigger = "needs a take-profit or a stop-loss"

/** A take-profit, a stop-loss, or both. */
export const AutoCloseBody = Schema.Struct({
  takeProfit: Fields.optional(TriggerBody),
  stopLoss: Fields.optional(TriggerBody)
}).pipe(Schema.filter((body) => body.takeProfit === undefined && body.stopLoss === undefined ? needsTrigger : undefined, {
  jsonSchema: { minProperties: 1 }
})).annotations({ identifier: "AutoCloseBody" })
export type AutoCloseBody = typeof AutoCloseBody.Type

const triggerShape = shape({ triggerPrice: decimal }, { triggerBy: oneOf(triggerPrices), limitPrice: decimal }, {
  triggerBy: () => triggerPrices[mark]
})

const members = ["takeProfit", "stopLoss"] as const

export const autoCloseShape = shape({}, { takeProfit: nested(triggerShape), stopLoss: nested(triggerShape) })

/** The first fault of an auto-close. `at` is its path in the body. */
export const fault = (value: unknown, at: string): Fault | undefined => {
  const found = faultOf(value, autoCloseShape, at)
  if (found !== undefined) return found
  let count = 0
  for (const member of members) {
    if (!carries(value, member)) continue
    const broken = faultOf(value[member], triggerShape, at === "" ? member : `${at}.${member}`)
    if (broken !== undefined) return broken
    count++
  }
  return count === 0 ? new Fault(at, needsTrigger) : undefined
}

/** An auto-close on a market's grid, with the fault of a value that atoms cannot express. */
export interface OnGrid {
  readonly autoClose: AutoClose
  readonly fault: Refusal
  readonly comparison: Errors.Comparison | undefined
}

/** For an auto-close that was not sent. */
export const none: OnGrid = { autoClose: noAutoClose, fault: Refusal.none, comparison: undefined }

/**
 * Trigger prices as atoms: too many decimals are an invalid request; a value that atoms cannot express, and zero, is no trigger.
 */
export const onGrid = (view: MarketView | undefined, body: AutoCloseBody | undefined, at: string): OnGrid | Errors.Failure => {
  if (body === undefined) return none
  if (view === undefined) return { ...none, fault: Refusal.marketNotFound }
  const { priceScale } = view.parameters
  const atoms: Array<Trigger> = []
  for (const member of members) {
    const trigger = body[member]
    if (trigger === undefined) {
      atoms.push(noTrigger)
      continue
    }
    const prices: Array<number> = []
    for (const name of ["triggerPrice", "limitPrice"] as const) {
      const text = trigger[name]
      const price = text === undefined ? 0 : Units.parseDecimal(text, priceScale)
      if (text !== undefined && (typeof price === "string" || price === 0)) {
        if (!Market.isListed(view.status)) return { ...none, fault: Refusal.marketNotFound }
        return price === "too_fine"
          ? Grid.tooFine(Refusal.triggerInvalid, `${at}${member}.${name}`, text, priceScale)
          : { ...none, fault: Refusal.triggerInvalid, comparison: { actual: text } }
      }
      prices.push(price as number)
    }
    atoms.push({
      priceAtoms: prices[0]!,
      by: triggerPrices.indexOf(trigger.triggerBy ?? triggerPrices[mark]) as TriggerBy,
      limitAtoms: prices[1]!
    })
  }
  return { autoClose: { takeProfit: atoms[0]!, stopLoss: atoms[1]! }, fault: Refusal.none, comparison: undefined }
}

/** One trigger of an answer. */
const TriggerRecord = Schema.Struct({
  ...Fields.paired("triggerPrice"),
  triggerBy: TriggerBy,
  limitPrice: Fields.optional(Fields.Decimal),
  limitPriceAtoms: Fields.optional(Fields.Atoms)
}).annotations({ identifier: "Trigger" })

/** A take-profit, a stop-loss, or both, of an answer. */
export const autoCloseFields = { takeProfit: Fields.optional(TriggerRecord), stopLoss: Fields.optional(TriggerRecord) }
export const AutoCloseRecord = Schema.Struct(autoCloseFields).annotations({ identifier: "AutoClose" })

const price = (name: string, atoms: number, scale: number): string =>
  `"${name}":"${Units.formatDecimal(atoms, scale)}","${name}Atoms":"${atoms}"`

const triggerText = ({ by, limitAtoms, priceAtoms }: Trigger, scale: number): string =>
  `{${price("triggerPrice", priceAtoms, scale)},"triggerBy":"${triggerPrices[by]}"`
  + (limitAtoms === 0 ? "" : `,${price("limitPrice", limitAtoms, scale)}`)
  + "}"

/** The members of a take-profit and a stop-loss, parted by a comma. */
export const membersText = ({ stopLoss, takeProfit }: AutoClose, priceScale: number): string =>
  [
    ...(takeProfit.priceAtoms === 0 ? [] : [`"takeProfit":${triggerText(takeProfit, priceScale)}`]),
    ...(stopLoss.priceAtoms === 0 ? [] : [`"stopLoss":${triggerText(stopLoss, priceScale)}`])
  ].join(",")

/** `,"autoClose":{...}` of an order that has it. */
export const text = (autoClose: AutoClose, priceScale: number): string =>
  autoClose === noAutoClose || !isSet(autoClose) ? "" : `,"autoClose":{${membersText(autoClose, priceScale)}}`
