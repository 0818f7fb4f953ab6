/**
 * More requests come at once than there may be connections: many on each of a few, behind others that have no answer yet and in pieces, to a
 * process that reads nothing for a moment and then everything. Bytes follow some that are no request, clients take answers late, and newcomers
 * are let in where others are idle.
 *
 * What has to hold: each order is done once, in the order in which its connection has sent it; each read is answered; and what is no request
 * is refused behind what was one.
 */
import * as Calls from "../workload/Calls.js"
import type { Scenario } from "./Scenario.js"

/** Requests at once, more than one connection may have under way. */
const atOnce = 60
const rounds = 3
/** Reads that come alone, and a time that is longer than a request may take to arrive, ms. */
const alone = 12
const longMs = 16_000
/** Connections that there may be. */
const connections = 7

export const crowdedConnections: Scenario = {
  name: "crowded-connections",
  what: "many requests at once over few connections, in pieces, behind others, and followed by bytes that are none",
  set: {
    wire: {
      pipelinedShare: 0.8,
      piecesShare: 0.6,
      maxPauseMs: 2,
      busyShare: 0.2,
      maxBusyMs: 15,
      slowShare: 0.3,
      maxSlowMs: 5,
      burstShare: 0.2,
      strayShare: 0.3,
      keepAliveMs: 2_000,
      connections,
      perAddress: 5,
      unreadBytes: 1_000_000
    }
  },
  play: (stage) => {
    const market = stage.market("ABC", 1_000)
    const [buyer, seller, reader] = stage.open(["buyer", "seller", "reader"], 1_000_000)
    const reads = [
      Calls.read(reader!, "getBalance", `/v1/accounts/${reader!.accountId}/balance`, "trader"),
      Calls.read(reader!, "listCompatPositions", "/v2/positions", "trader"),
      Calls.read(reader!, "listMarkets", "/v1/markets", "none")
    ]
    for (let round = 0; round < rounds; round++) {
      const orders = Array.from({ length: atOnce }, (_, at) =>
        at % 2 === 0
          ? stage.anOrder(buyer!, market, "buy", { size: 1, price: 1_000 })
          : stage.anOrder(seller!, market, "sell", { size: 1, price: 1_000 }))
      stage.together(orders)
      const answers = [
        ...stage.answersTogether(Array.from({ length: atOnce }, (_, at) => ({ ...reads[at % reads.length]!, persistent: true }))),
        ...stage.apartTogether(Array.from({ length: atOnce }, () => ({ ...reads[2]!, persistent: true })), 1)
      ]
      stage.holds("all reads are answered", answers.every(({ status }) => status === 200))
      stage.is("what the buyer has", stage.held(buyer!, market), (round + 1) * atOnce / 2)
    }
    stage.holds("figures tell of connections that were closed for newcomers",
      (stage.figure("venue_connections_closed_for_room_total") ?? 0) > 0)
    const open = stage.figure("venue_open_sockets") ?? 0
    stage.holds(`they tell of as many connections as there may be: ${open}`, open > 0 && open <= connections)
    // What follows these, nobody crowds out: it is waited for as long as a request may take.
    for (let read = 0; read < alone; read++) {
      stage.public("listMarkets", "/v1/markets")
      stage.pass(longMs)
    }
    stage.audit()
  }
}
