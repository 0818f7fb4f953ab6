/**
 * Something happens in the very millisecond in which something else ends: the clock stands still for it. The first deals of a day are made
 * at midnight, an index goes stale just as a record of another market is made, an agent polls again just when it may, and a feed process
 * sends all that it may send at once and one batch more. Before that the clock is set ahead, back again and right again, which is one step ahead.
 *
 * What has to hold: a deal of midnight counts for the new day and for the new minute, whoever is told of it, an agent that polls as it was
 * told is not told to slow down, the record that finds an index stale tells so, a feed process is taken at
 * its limit and not beyond, and a clock that is set right has gone ahead of nothing.
 */
import type { Json } from "../reading/Bodies.js"
import { operatorToken } from "../run/World.js"
import * as Calls from "../workload/Calls.js"
import { listened } from "./Listener.js"
import type { Scenario } from "./Scenario.js"
import { nextInterval, type Stage } from "./Stage.js"

const second = 1_000
const hour = 3_600_000
const day = 24 * hour
/** A clock is looked at, and a leaderboard is made anew, within these times, s. */
const watchedSeconds = 11
const boardSeconds = 65
/** Whoever follows something is told within this time, ms. */
const whileMs = 20
/** An agent waits for so long between two polls, ms. */
const pollMs = 5_000
/** Prices of the longest batch, and so many of these batches as a feed process may send at once. */
const longest = 256
const batches = 7
const figure = "venue_clock_steps_ahead_total"

/** Sets the clock ahead, then back, then ahead to where it was. */
const setThriceOver = (stage: Stage): void => {
  stage.is("steps ahead of a clock that nobody has set", stage.figure(figure), 0)
  for (const ms of [hour, -hour, hour]) {
    stage.setForward(ms)
    stage.waitAlone(watchedSeconds)
    // Read each time: what was told before the clock was set back is no answer for an hour.
    stage.metrics()
  }
  stage.is("steps ahead of one that was set ahead, back and right again", stage.figure(figure), 1)
}

/** Sends batches of prices for no market in a session, at one moment, and returns the statuses of the answers. */
const streamed = (stage: Stage): ReadonlyArray<number> => {
  const target = "/v1/operator/index-stream"
  const opened = stage.done(stage.say(Calls.ask(operatorToken, "open a stream", "openIndexStream", "POST", target, undefined)))
  const price = { marketId: "NONE-USDC-PERP", price: "1", sourceEpochMs: stage.venueNow }
  const prices = Array.from({ length: longest }, () => price)
  return Array.from({ length: batches + 1 }, (_, at) => {
    const body = { session: opened["session"], sequence: at + 1, prices }
    const draft = Calls.ask(operatorToken, "stream prices", "streamIndexPrices", "POST", `${target}/prices`, body)
    return stage.answersTogether([{ ...draft, persistent: false }])[0]!.status
  })
}

/** An agent polls, and again just when it may. */
const polledOnTheStroke = (stage: Stage): void => {
  const asked = stage.agentAsks(["read"])
  const told = [stage.venueNow + pollMs, stage.venueNow + 2 * pollMs].map((atEpochMs) => {
    stage.stopClockAt(atEpochMs)
    return (stage.fetchKey(asked).answer.json as Json)["code"]
  })
  stage.letClockGo()
  stage.is("what an agent is told that polls just when it may", told, ["authorization_pending", "authorization_pending"])
}

export const onTheStroke: Scenario = {
  name: "on-the-stroke",
  what:
    "deals at midnight, an index that goes stale in the millisecond of another market's record, a feed's limit, a clock set thrice over",
  set: { streams: listened },
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { indexStaleMs: 2 * day })
    const [one, other] = stage.open(["one", "other"], 10_000)
    setThriceOver(stage)
    polledOnTheStroke(stage)
    stage.deal(one!, other!, market, 1, 1_000)

    const silent = stage.market("DEF", 1_000)
    const ticker = stage.listener("who follows a market")
    ticker.follow("market.ticker", silent.marketId)
    stage.done(stage.index(silent, 1_000))
    const staleAtEpochMs = Number((stage.stats(silent)["marketData"] as Json)["asOfEpochMs"]) + silent.indexStaleMs
    stage.stopClockAt(staleAtEpochMs)
    stage.cancel(one!, market, stage.buy(one!, market, { size: 1, price: 900 }))
    stage.wait(whileMs)
    stage.is("the answers to a feed process at its limit", streamed(stage), [...Array.from({ length: batches }, () => 200), 429])
    stage.letClockGo()

    const chart = stage.listener("who follows the candles")
    chart.askForCandles(market.marketId, "trade")
    chart.hasBegun("market.candles")
    const midnight = nextInterval(stage.venueNow, day)
    stage.stopClockAt(midnight - second)
    stage.deal(one!, other!, market, 1, 1_000)
    stage.stopClockAt(midnight)
    stage.deal(other!, one!, market, 1, 1_000)
    stage.letClockGo()
    stage.waitAlone(boardSeconds)
    const candles = stage.public("getCandles", `/v1/markets/${market.marketId}/candles?timeframe=1m&series=trade`)["candles"]
    stage.is("the candles of who follows them", chart.drawn.slice(-2), (candles as ReadonlyArray<Json>).slice(-2))
    const board = stage.public("getLeaderboard", "/v1/leaderboard?window=daily")["entries"] as ReadonlyArray<Json>
    stage.is("the fills of the new day", board.map(({ fillCount }) => fillCount), [1, 1])
    stage.audit()
  }
}
