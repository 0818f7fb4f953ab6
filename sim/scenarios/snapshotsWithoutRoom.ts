/**
 * A disk is full. The journal goes on in the room that is kept for it, and the snapshots that are due find none. Nothing else shows: the
 * venue serves as before, and each day that it does so makes its next start longer, or a stop fail that has to save one.
 *
 * What has to hold: from the first snapshot that could not be saved the operator has a figure for it, until one is saved again; and not
 * before or after. It is the same whether the venue takes its snapshots itself or a follower does.
 */
import type { Scenario } from "./Scenario.js"
import type { Stage } from "./Stage.js"

const hour = 3_600_000
const kilobyte = 1_024
const figure = "venue_snapshot_failing"

const every = 5
const bounds = { fullBytes: 4 * kilobyte, maxBlockBytes: 8 * kilobyte, segmentBytes: 64 * kilobyte, snapshotEveryRecords: every }

/** Looks, a second apart, whether snapshots are taken as often as they are to be; the next one may be under way. */
const looks = 10
const keptUp = (stage: Stage): void => {
  for (let at = 0; at < looks; at++) {
    stage.waitAlone(1)
    const [durable = 0, newest = 0] = ["venue_durable_sequence", "venue_snapshot_sequence"].map((name) => stage.figure(name))
    stage.holds(`the newest snapshot, of record ${newest}, is recent at record ${durable}`, durable - newest <= 2 * every)
  }
}

const play = (stage: Stage, further: (stage: Stage) => void): void => {
  const market = stage.market("ABC", 1_000, { indexStaleMs: hour })
  const [one, other] = stage.open(["one", "other"], 1_000)
  stage.deal(one!, other!, market, 1, 1_000)
  stage.waitAlone(6)
  stage.is("whether snapshots fail while there is room", stage.figure(figure), 0)
  stage.fillDisk(true)
  stage.waitAlone(8)
  stage.is("whether they fail on a full disk", stage.figure(figure), 1)
  stage.is("whether the venue serves all the same", stage.readiness(), 200)
  stage.fillDisk(false)
  stage.waitAlone(12)
  stage.is("whether they fail once there is room again", stage.figure(figure), 0)
  further(stage)
  stage.audit()
}

export const snapshotsWithoutRoom: Scenario = {
  name: "snapshots-without-room",
  what: "snapshots cannot be saved on a full disk while the journal goes on, and are saved again when there is room",
  bounds,
  play: (stage) => play(stage, () => {})
}

export const followerWithoutRoom: Scenario = {
  name: "follower-without-room",
  what: "the same where a follower takes the snapshots",
  bounds,
  set: { follower: { isThere: true, meanCrashMs: 0, restShare: 0, maxRestMs: 0, snapshotEveryRecords: every } },
  play: (stage) => play(stage, keptUp)
}
