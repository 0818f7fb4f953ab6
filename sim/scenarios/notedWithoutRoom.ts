/**
 * Somebody uses his key while the disk is full. The venue gathers the uses of keys and journals them a minute later; there is no room for
 * that. Then there is room again, nobody calls any more, and the venue is stopped. An owner who looks for a key that somebody else has got
 * sees that it was never used, if what was refused was not tried again.
 *
 * What has to hold: the use is journaled once there is room, at the latest as the venue stops. Once it is, no clock that is set back
 * tells an earlier one.
 */
import type { Json } from "../reading/Bodies.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import type { Scenario } from "./Scenario.js"

const hour = 3_600_000
const kilobyte = 1_024
/** Within this time the marks have used up all the room that is not reserved. */
const usedUpSeconds = 30
/** Longer than uses are gathered. */
const gatheredSeconds = 65

export const notedWithoutRoom: Scenario = {
  name: "noted-without-room",
  what: "a key is used on a full disk, where there is no room for a note of it, and the venue is stopped when there is",
  bounds: { fullBytes: 2 * kilobyte, maxBlockBytes: 4 * kilobyte, segmentBytes: 16 * kilobyte },
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { indexStaleMs: hour })
    const [who, other] = stage.open(["who", "other"], 1_000)
    stage.deal(who!, other!, market, 1, 1_000)
    const key = OwnerCalls.demoKey("who", who!)
    const lastUsed = (): number => {
      const { key: told } = stage.done(stage.say(OwnerCalls.getCurrentApiKey(key)))
      return Number((told as Json)["lastUsedAtEpochMs"])
    }
    const before = lastUsed()
    stage.waitAlone(gatheredSeconds)
    stage.setForward(-hour)
    stage.holds("the last use does not go back with the clock", lastUsed() >= before)
    // Nor once the earlier use is journaled behind the later one.
    stage.waitAlone(gatheredSeconds)
    stage.setForward(hour)

    stage.fillDisk(true)
    stage.waitAlone(usedUpSeconds)
    stage.balance(who!)
    stage.waitAlone(gatheredSeconds)
    stage.fillDisk(false)
    stage.tick()
    stage.auditEngine()
  }
}
