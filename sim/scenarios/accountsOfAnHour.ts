/**
 * More people want an account than may have one opened in an hour. Some send an answer of a passkey that proves nothing, one comes while
 * the disk is full, and who has an account signs in and makes another passkey. One asks for an account by a passkey that has one. And
 * while the disk is full, an order is repeated that was placed before.
 *
 * What has to hold: as many accounts are opened in an hour as may be, and not one more; whoever comes behind them is told when to come
 * again; and whoever has an account gets into it all the same. What is refused for want of room does not count, and what is refused for
 * good does. What was decided before needs no room.
 */
import { unlimited } from "../faults/Options.js"
import type { Json } from "../reading/Bodies.js"
import type { Scenario } from "./Scenario.js"

const hour = 3_600_000
const minute = 60_000
const kilobyte = 1_024
/** Accounts that may be opened in an hour. */
const most = 3
/** Within this time a venue finds the room that there is again. */
const roomFoundMs = 15_000

export const accountsOfAnHour: Scenario = {
  name: "accounts-of-an-hour",
  what: "more accounts than may be opened in an hour, some of which fail, and owners who have one",
  bounds: { fullBytes: 4 * kilobyte, maxBlockBytes: 8 * kilobyte, segmentBytes: 64 * kilobyte },
  set: { limits: { ...unlimited, openingsPerHour: most } },
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { indexStaleMs: 24 * hour })
    const [one, other] = stage.open(["one", "other"], 10_000)
    stage.deal(one!, other!, market, 1, 1_000)

    let passkeys = 0
    /** Opens accounts one after the other, as many as may be opened, and one more. Returns who has the first. */
    const hourOf = (what: string, left = most): { readonly owner: number; readonly passkey: number } => {
      const first = passkeys
      const opened = Array.from({ length: left }, () => stage.register(passkeys++))
      stage.is(`accounts that are opened ${what}`, opened.map(({ answer }) => answer.status), opened.map(() => 200))
      tooMany(`the account too many ${what}`)
      return { owner: opened[0]!.call, passkey: first }
    }
    const tooMany = (what: string): void => {
      const { answer: { headers, json, status } } = stage.register(passkeys++)
      stage.is(what, [status, (json as Json)["rejectionGuard"], headers["retry-after"]], [429, "account_openings", "60"])
    }

    for (const fault of ["another origin", "another challenge"] as const) {
      stage.holds("what proves nothing opens nothing", stage.register(passkeys++, { fault }).answer.status >= 400)
    }
    const { owner, passkey } = hourOf("in the first hour")

    stage.is("who has an account and signs in", stage.signIn(owner, passkey).answer.status, 200)
    stage.is("who makes another passkey", stage.addPasskey(owner, passkey, passkeys++).answer.status, 200)

    // An hour begins with the first account of it, and does not roll.
    stage.setForward(hour - minute)
    tooMany("the account too many in the last minute of an hour")
    stage.setForward(2 * minute)
    stage.is("an account by a passkey that has one", stage.register(passkey).answer.status, 400)
    hourOf("in the second hour", most - 1)

    stage.setForward(hour + minute)
    const order = { ...stage.anOrder(one!, market, "buy", { size: 1, price: 900 }), persistent: false }
    stage.is("an order", stage.say(order).status, 200)
    stage.fillDisk(true)
    // Marks use up all the room that is not reserved.
    stage.waitAlone(400)
    stage.is("an account for which the disk has no room", stage.register(passkeys++).answer.status, 503)
    stage.is("the same order again", stage.answersTogether([order])[0]!.status, 200)
    stage.is("whether figures tell that the journal has no room", stage.figure("venue_journal_full"), 1)
    stage.fillDisk(false)
    stage.pass(roomFoundMs)
    stage.is("whether they tell it when there is room again", stage.figure("venue_journal_full"), 0)
    hourOf("when there is room again")
    stage.audit()
  }
}
