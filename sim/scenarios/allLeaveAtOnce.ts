/**
 * A network fails, and all connections that are to cancel their orders end at the same moment, in front of a venue that is busy: its
 * inbox has room for fewer than there are. Venues have dropped such an end when they had no room for it, and the orders of who was gone
 * have traded on.
 *
 * What has to hold: each end is sent again until it is taken, and counts as waiting so long; no connection stays armed, and the orders that each of them had are gone. A
 * record ends one order, so a connection that has ended has another in the book for a moment, and a venue that starts from a snapshot of
 * that moment must end it, too.
 */
import { still } from "../faults/Options.js"
import { listened } from "./Listener.js"
import type { Scenario } from "./Scenario.js"

/** Connections of an account, and orders of a connection. */
const each = 3
const placed = 2
/** Longer than it may take until who has left is noticed, and his connection ended. */
const noticedMs = 6_000
const slowMs = 20
/** Each end was sent once by then, and none again. */
const triedMs = 50

export const allLeaveAtOnce: Scenario = {
  name: "all-leave-at-once",
  what: "more armed connections, each with orders, end at one moment than the inbox has room for",
  bounds: { endedAtOnce: 1, inbox: { capacity: 2, reserved: 1 } },
  set: { disk: { ...still.disk, maxCallMs: slowMs }, streams: { ...listened, connections: 4 * each } },
  play: (stage) => {
    const accounts = stage.open(["one", "two", "three"], 10_000)
    const market = stage.market("ABC", 1_000)
    stage.deal(accounts[0]!, accounts[1]!, market, 1, 1_000)
    const listeners = accounts.flatMap((who) => {
      const ticket = stage.ticket(who)
      return Array.from({ length: each }, (_, at) => {
        const listener = stage.listener(`${who.client} ${at}`)
        stage.is(`what ${listener.name} is told`, listener.show(ticket, who.accountId, true)["type"], "auth_ok")
        for (let more = 0; more < placed; more++) {
          const order = listener.place(stage.anOrder(who, market, "buy", { size: 1, price: 900 + at }))
          stage.is(`what becomes of an order of ${listener.name}`, order["type"], "result")
        }
        return listener
      })
    })
    stage.is("connections that are armed", stage.armed, listeners.length)
    const open = (): number => accounts.reduce((sum, who) => sum + stage.openOrders(who).length, 0)
    stage.is("orders before they leave", open(), listeners.length * placed)
    for (const listener of listeners) listener.leave()
    const waiting = (): number => stage.figure("venue_stream_ends_waiting") ?? -1
    stage.wait(triedMs)
    stage.holds("it is told that some ends wait for room", waiting() > 0)
    stage.pass(noticedMs)
    stage.is("ends that are told to wait for room", waiting(), 0)
    stage.is("connections that are still armed", stage.armed, 0)
    stage.is("orders of those who have left", open(), 0)
    stage.auditEngine()
  }
}
