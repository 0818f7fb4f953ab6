/**
 * A disk hangs in the evening. It runs full over night, and a power failure follows. The venue does not start where only the room reserved
 * for cancels is left; or it starts, and when there is room again no order arrives to remind it that marks are due, and a dead-man switch
 * long since. Later its clock is set forward by an hour, in a market that stands still: orders that were to expire in that hour wait for
 * another one.
 *
 * What has to hold: the venue starts as long as anything can be journaled, and accepts risk-reducing commands; everything that is due is
 * done within moments once there is room, or once the clock is set, even though nobody sends anything. Who asks is told within a second
 * that the disk hangs.
 */
import type { Scenario } from "./Scenario.js"

const hour = 3_600_000
const kilobyte = 1_024
/** Longer than a block may be under way unnoticed, and shorter than the supervisor is patient. */
const hangingMs = 1_200

export const nightWithoutRoom: Scenario = {
  name: "night-without-room",
  what: "a disk hangs and runs full, power fails, there is room again and nobody calls; then a clock is set forward in a halted market",
  bounds: { fullBytes: 4 * kilobyte, maxBlockBytes: 8 * kilobyte, segmentBytes: 64 * kilobyte },
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { indexStaleMs: 24 * hour })
    const [one, other] = stage.open(["one", "other"], 10_000)
    stage.deal(one!, other!, market, 1, 1_000)
    for (const price of [900, 901, 902]) stage.buy(one!, market, { size: 1, price })

    stage.is("whether it is ready", stage.readiness(), 200)
    stage.hangNextBlock()
    stage.tick()
    stage.wait(hangingMs)
    stage.is("whether it is ready while the disk hangs", stage.readiness(), 503)
    stage.waitAlone(5)
    stage.is("whether it is ready afterwards", stage.readiness(), 200)

    // Marks use up all the room that is not reserved for requests. Only the disk knows how much that is: they stop by themselves.
    stage.fillDisk(true)
    stage.waitAlone(400)
    stage.crash("power")
    stage.is("the switch that is set on a full disk", stage.cancelAllAfter(one!, 5_000)["timeoutMs"], 5_000)
    stage.waitAlone(8)
    stage.fillDisk(false)
    stage.waitAlone(15)
    stage.is("what is open when the switch was due", stage.openOrders(one!), [])

    const expiresAtEpochMs = stage.venueNow + hour
    stage.buy(one!, market, { size: 1, price: 900, expiresAtEpochMs })
    stage.status(market, "halted")
    stage.waitAlone(3)
    stage.setForward(hour)
    stage.waitAlone(6)
    stage.is("what is open when it was to expire", stage.openOrders(one!), [])
    stage.status(market, "open")
    stage.tick()
    stage.audit()
  }
}
