/**
 * Safety (I16). What a client has put together from snapshots and updates is what the venue has, at every record at which the
 * two can be compared and when all is quiet. Each update names the sequence that the client had before; none of an account's
 * orders is skipped, whatever was cut in between; nothing is shown before it is durable, nothing of another account, and nothing
 * of an account once the ticket is over that was shown for it.
 */
import { broken, holds, type Property } from "./Property.js"

interface State {
  /** By account, the records that changed an order that is in a list, oldest first. */
  readonly changed: Map<number, Array<number>>
}

/** Records that are remembered of one account: a client that comes back from further behind gets a snapshot, or is not judged. */
const mostRemembered = 5_000

export const streams: Property<State> = {
  name: "streams-equal-the-venue-and-skip-nothing",
  invariant: "I16",
  kind: "safety",
  initial: () => ({ changed: new Map() }),
  observe: ({ changed }, seen) => {
    switch (seen._tag) {
      case "Committed": {
        for (const account of new Set([...seen.decision.touchedOrders].filter(({ by }) => by === "client").map((order) => order.account))) {
          const records = changed.get(account) ?? []
          changed.set(account, records)
          records.push(seen.record.sequence)
          if (records.length > mostRemembered) records.shift()
        }
        return holds
      }
      case "Streamed": {
        const { account, before, client, durable, expected, held, isForeign, isLate, isSnapshot, previousSequence, sequence, stream } = seen
        const what = `${client} was sent record ${sequence} of ${stream}`
        if (sequence > durable) return broken(`${what} when only ${durable} was durable`)
        if (isLate) return broken(`${what} when its ticket was over`)
        if (isForeign) return broken(`${what}, which is about another account`)
        if (expected !== undefined && held !== expected) return broken(`${what}, by which it has ${held}, and it is ${expected}`)
        if (isSnapshot) return holds
        if (before === undefined) return broken(`${what} before any snapshot`)
        if (previousSequence !== before) return broken(`${what} as the one behind ${previousSequence}, and it had ${before}`)
        if (sequence <= before) return broken(`${what}, and it had ${before}`)
        if (stream !== "account.orders") return holds
        const missed = changed.get(account)?.find((record) => record > before && record < sequence)
        return missed === undefined ? holds : broken(`${what} behind ${before}, and record ${missed} between them changed an order`)
      }
      case "StreamRests":
        return seen.held === seen.expected
          ? holds
          : broken(`all is quiet, and of ${seen.stream} ${seen.client} has ${seen.held}, and it is ${seen.expected}`)
      default:
        return holds
    }
  }
}
