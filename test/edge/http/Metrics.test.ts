/** The venue's metrics as Prometheus text: a value for whatever exists, and no line for what does not. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import type { Labelled } from "../../../src/edge/http/Exposition.js"
import { make, noCounts } from "../../../src/edge/http/Metrics.js"

/** Present from the start, so that an alert notices the first increase. */
const noDefects = "venue_refusals_total{name=\"InternalError\"} 0"

const linesOf = (text: string): ReadonlyArray<string> =>
  text.split("\n").filter((line) => line !== "" && !line.startsWith("#") && line !== noDefects)

test("defects are told before there was one, and counted from there", async () => {
  const metrics = make()
  const render = async () => (await Effect.runPromise(metrics.render)).split("\n")
  expect(await render()).toContain(noDefects)
  metrics.refused("InternalError")
  expect((await render()).filter((line) => line.startsWith("venue_refusals_total{"))).toEqual([noDefects.replace(/0$/, "1")])
})

test.each([
  ["without labels", [], [{ labels: {}, value: 7 }], "venue_thing 7"],
  ["with one", ["market"], [{ labels: { market: "BTC-USDC-PERP" }, value: 7 }], "venue_thing{market=\"BTC-USDC-PERP\"} 7"]
])("a gauge %s is absent while there is nothing to tell, so that an alert on its absence is raised", async (_, labels, values, line) => {
  const metrics = make()
  let told: ReadonlyArray<Labelled> = []
  metrics.gauges("venue_thing", "A thing.", labels, () => told)
  const render = async () => linesOf(await Effect.runPromise(metrics.render))
  expect(await render()).toEqual([])
  told = values
  expect(await render()).toEqual([line])
  told = []
  expect(await render()).toEqual([])
})

test("a counter that has counted nothing tells 0, and is read anew each time", async () => {
  const metrics = make()
  let count = 0
  metrics.counter("venue_things_total", "Things.", () => count)
  metrics.refused("rate_limited")
  metrics.route("getTime").byStatus.set(200, 3)
  const render = async () => linesOf(await Effect.runPromise(metrics.render))
  const others = ["venue_http_requests_total{route=\"getTime\",status=\"200\"} 3", "venue_refusals_total{name=\"rate_limited\"} 1"]
  expect(await render()).toEqual([...others, "venue_things_total 0"])
  count = 5
  metrics.refused("rate_limited")
  expect(await render()).toEqual([others[0], "venue_refusals_total{name=\"rate_limited\"} 2", "venue_things_total 5"])
})

test("what was counted while the venue started is told with what came later", async () => {
  const counts = noCounts()
  const [starting, started] = [make(counts), make(counts)]
  starting.gauge("venue_thing", "A thing of a venue that starts.", () => 1)
  started.gauge("venue_thing", "A thing of one that has started.", () => 2)
  starting.route("placeOrder").byStatus.set(503, 2)
  starting.refused("Starting")
  started.route("placeOrder").byStatus.set(200, 1)
  expect(linesOf(await Effect.runPromise(started.render))).toEqual([
    "venue_http_requests_total{route=\"placeOrder\",status=\"503\"} 2",
    "venue_http_requests_total{route=\"placeOrder\",status=\"200\"} 1",
    "venue_refusals_total{name=\"Starting\"} 1",
    "venue_thing 2"
  ])
})

test("a metric is registered once", () => {
  const metrics = make()
  metrics.gauge("venue_thing", "A thing.", () => 1)
  expect(() => metrics.counters("venue_thing", "Another.", ["market"], () => [])).toThrow("registered once: venue_thing")
})
