/**
 * Comparison of request bodies as rules 1 made it: by the command that the engine derived from a request, with market indexes and
 * atoms. A key remembered under rules 1 keeps that digest after the step to rules 2, and a repetition of its request is compared in
 * the same way, so that the promise of the key holds until it expires.
 */
import * as Market from "../../domain/Market.js"
import { Digest128 } from "../../domain/Digest128.js"
import type { Fingerprint } from "../../operations/Fingerprint.js"
import type { Fields } from "../../operations/Field.js"
import { type Command, of as declarationOf } from "../../operations/Operations.js"

const digest = new Digest128()

/** The digest of a command's body under rules 1. */
export const of = (command: Command): Fingerprint => {
  digest.reset(0)
  feed(command)
  digest.finish()
  return { a: digest.a, b: digest.b, c: digest.c, d: digest.d }
}

/**
 * Feeds every field of a command's body that a client can vary, in a fixed order: unless listed here, the declared fields one after
 * the other.
 */
const feed = (command: Command): void => {
  switch (command.kind) {
    case "PlaceOrders":
      digest.word(command.entries.length)
      for (const entry of command.entries) {
        digest.word(entry.market)
        digest.text(entry.clientOrderId)
        digest.word(
          entry.side | (entry.type << 1) | (entry.timeInForce << 2) | (entry.postOnly ? 8 : 0) | (entry.reduceOnly ? 16 : 0)
            | (entry.selfTradePrevention << 5) | (entry.fault << 8)
        )
        digest.number(entry.priceAtoms)
        digest.number(entry.quantityAtoms)
        digest.number(entry.expiresAtEpochMs)
        digest.text(entry.raw)
      }
      return
    case "CancelOrders":
      digest.word(command.entries.length)
      for (const entry of command.entries) {
        digest.word(entry.market)
        digest.number(entry.orderNumber)
        digest.text(entry.raw)
      }
      return
    case "CancelAllOrders":
      digest.word(command.market)
      if (command.raw !== "") digest.text(command.raw)
      return
    case "PutMarket":
      digest.text(JSON.stringify(Market.withoutDefaults(command.parameters)))
      return
    case "OpenDemoAccounts":
      digest.number(command.collateralAtoms)
      digest.word(command.keys.length)
      for (const key of command.keys) {
        digest.text(key.keyId)
        digest.text(key.secretSha256)
        digest.word(key.scopes)
      }
      return
    default:
      feedFields(declarationOf(command).fields, command as unknown as Readonly<Record<string, unknown>>)
  }
}

const feedFields = (fields: Fields, values: Readonly<Record<string, unknown>>): void => {
  for (const [name, { mark, shape }] of Object.entries(fields)) {
    const value = values[name]
    if (typeof value === "string") digest.text(value)
    // Market indexes and codes took one word each, all other numbers two.
    else if (mark === "market" || shape.type === "code") digest.word(value as number)
    else digest.number(value as number)
  }
}
