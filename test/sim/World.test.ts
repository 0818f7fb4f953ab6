/** The world's leaves behave according to their fault models. */
import { Duration, Effect, Exit, Scope, Stream } from "effect"
import { describe, expect, test } from "vitest"
import { type Application, Listener } from "../../src/edge/http/Listener.js"
import { IndexFeed, type Sample } from "../../src/oracle/IndexFeed.js"
import * as SimClock from "../../sim/world/SimClock.js"
import * as SimIndexFeed from "../../sim/world/SimIndexFeed.js"
import * as SimNetwork from "../../sim/world/SimNetwork.js"
import * as SimRandom from "../../sim/world/SimRandom.js"
import * as SimScheduler from "../../sim/world/SimScheduler.js"
import * as SimTime from "../../sim/world/SimTime.js"

describe("SimRandom", () => {
  test("gives equal streams for equal seeds and names, others for others", () => {
    const draw = (seed: string, name: string) => Array.from({ length: 5 }, SimRandom.make(seed, name).next)
    expect(draw("1", "a")).toEqual(draw("1", "a"))
    expect(draw("1", "a")).not.toEqual(draw("1", "b"))
    expect(draw("1", "a")).not.toEqual(draw("2", "a"))
  })

  test("keeps a generator as it is whatever is drawn from another", () => {
    const root = SimRandom.make("1")
    const alone = root.split("disk").next()
    for (let index = 0; index < 100; index++) root.next()
    expect(SimRandom.make("1").split("disk").next()).toBe(alone)
  })

  test("draws evenly enough, and never a weight of zero", () => {
    const random = SimRandom.make("even")
    const counts = [0, 0, 0, 0]
    for (let index = 0; index < 4_000; index++) counts[random.below(4)]!++
    for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150)
    for (let index = 0; index < 200; index++) expect(random.weighted({ never: 0, always: 1 })).toBe("always")
  })
})

describe("SimTime", () => {
  test("lives moments in order of time, equal ones in an order drawn from the seed", () => {
    const order = (seed: string): string => {
      const time = SimTime.make(0, SimRandom.make(seed))
      const lived: Array<string> = []
      for (const name of ["a", "b", "c", "d", "e"]) time.after(5, () => lived.push(name))
      time.after(1, () => lived.push("first"))
      while (time.advance());
      return lived.join("")
    }
    expect(order("1").startsWith("first")).toBe(true)
    expect(order("1")).toBe(order("1"))
    expect(new Set(["1", "2", "3", "4", "5", "6"].map(order)).size).toBeGreaterThan(1)
  })

  test("lives what a run plans before all else of its moment, in the order in which it was planned, whenever that was", () => {
    for (const seed of ["1", "2", "3"]) {
      const time = SimTime.make(0, SimRandom.make(seed))
      const lived: Array<string> = []
      time.after(5, () => lived.push("other"))
      time.withTies(SimRandom.make(seed, "ties")).after(5, () => lived.push("other"))
      time.ahead.after(5, () => lived.push("step"))
      time.after(2, () => time.ahead.ahead.after(3, () => lived.push("next step")))
      while (time.advance());
      expect(lived).toEqual(["step", "next step", "other", "other"])
    }
  })

  test("does not live what was cancelled", () => {
    const time = SimTime.make(0, SimRandom.make("1"))
    let lived = false
    const cancel = time.after(1, () => {
      lived = true
    })
    expect(cancel()).toBe(true)
    expect(cancel()).toBe(false)
    expect(time.advance()).toBe(false)
    expect(lived).toBe(false)
  })
})

describe("SimClock", () => {
  test("jumps and freezes its reading, never its sleeps", () => {
    const time = SimTime.make(1_000, SimRandom.make("1"))
    const woken: Array<number> = []
    const scheduler = SimScheduler.make(SimRandom.make("1"), 0)
    const clock = SimClock.make(time, scheduler.ready)
    clock.jump(-500)
    expect(clock.unsafeCurrentTimeMillis()).toBe(500)
    clock.freeze()
    Effect.runFork(Effect.andThen(clock.sleep(Duration.millis(100)), Effect.sync(() => woken.push(time.nowEpochMs()))), { scheduler })
    time.after(250, () => {})
    while (scheduler.runOne() || time.advance());
    expect(woken).toEqual([1_100])
    expect(clock.unsafeCurrentTimeMillis()).toBe(500)
    clock.heal()
    expect(clock.unsafeCurrentTimeMillis()).toBe(1_250)
  })
})

describe("SimScheduler", () => {
  test("runs ready tasks in an order drawn from the seed, each once, and none after a crash", () => {
    const order = (seed: string): string => {
      const scheduler = SimScheduler.make(SimRandom.make(seed), 0)
      const ran: Array<string> = []
      for (const name of ["a", "b", "c", "d"]) scheduler.ready(() => ran.push(name))
      while (scheduler.runOne());
      return ran.join("")
    }
    expect([...order("1")].sort().join("")).toBe("abcd")
    expect(new Set(["1", "2", "3", "4", "5", "6"].map(order)).size).toBeGreaterThan(1)
    const scheduler = SimScheduler.make(SimRandom.make("1"), 0)
    scheduler.ready(() => expect.unreachable())
    scheduler.abandon()
    expect(scheduler.runOne()).toBe(false)
  })
})

describe("SimIndexFeed", () => {
  const honest: SimIndexFeed.Behaviour = {
    meanPauseMs: 100,
    moveBps: 30,
    repeatShare: 0,
    lateShare: 0,
    maxLateMs: 500,
    silenceShare: 0,
    maxSilenceMs: 0,
    oddShare: 0
  }
  const quoted = [{ marketId: "A-USDC-PERP", startPriceAtoms: 1_000, maxPriceAtoms: 5_000 }]

  /** The samples and times that a process hears when it connects after `fromMs` and lives for ten seconds. */
  const hear = (behaviour: Partial<SimIndexFeed.Behaviour>, fromMs = 0, cutMs = Number.POSITIVE_INFINITY) => {
    const time = SimTime.make(0, SimRandom.make("1"))
    const feed = SimIndexFeed.make(time, SimRandom.make("1", "feed"), { ...honest, ...behaviour }, quoted)
    const scheduler = SimScheduler.make(SimRandom.make("1"), 0)
    const heard: Array<Sample & { readonly atMs: number }> = []
    const listening = Effect.flatMap(IndexFeed,
      ({ samples }) =>
        Stream.runForEach(samples(() => []), (sample) =>
          Effect.sync(() => void heard.push({ ...sample as Sample, atMs: time.nowEpochMs() }))))
    time.after(fromMs, () => Effect.runFork(Effect.provide(listening, feed.layerFor(scheduler)), { scheduler }))
    if (cutMs < 10_000) time.after(cutMs, () => feed.cut(scheduler))
    while (scheduler.runOne() || (time.nextEpochMs() <= 10_000 && time.advance()));
    return heard
  }

  test("sends each market's price in order, near where it started, and equal for equal seeds", () => {
    const heard = hear({})
    expect(heard.length).toBeGreaterThan(50)
    heard.forEach(({ atMs, priceAtoms, sourceEpochMs }) => {
      expect(sourceEpochMs).toBe(Math.floor(atMs))
      expect(Math.abs(priceAtoms - 1_000)).toBeLessThanOrEqual(200)
    })
    expect(hear({})).toEqual(heard)
  })

  test("tells a process that connects the newest price first, and one that was cut off nothing", () => {
    const late = hear({}, 5_000)
    expect(late[0]?.atMs).toBe(5_000)
    expect(late[0]?.sourceEpochMs).toBeLessThan(5_000)
    expect(hear({}, 0, 1_000).every(({ atMs }) => atMs <= 1_000)).toBe(true)
  })

  test("repeats, comes late, leaves the bounds and falls silent where it is to", () => {
    const repeated = hear({ repeatShare: 1 })
    expect(new Set(repeated.map(({ sourceEpochMs }) => sourceEpochMs)).size).toBeLessThan(repeated.length * 0.7)
    const stale = hear({ lateShare: 1 })
    expect(stale.some(({ sourceEpochMs }, at) => at > 0 && sourceEpochMs < stale[at - 1]!.sourceEpochMs)).toBe(true)
    expect(hear({ oddShare: 1 }).every(({ priceAtoms }) => priceAtoms > 5_000)).toBe(true)
    expect(hear({ silenceShare: 1, maxSilenceMs: 60_000 }).length).toBeLessThan(5)
  })
})

describe("SimNetwork", () => {
  const request = { method: "GET", target: "/", headers: {}, body: new Uint8Array(0), remoteAddress: "10.0.0.1" }

  /** Sends requests through a faulty network to an application that counts and answers them. */
  const send = (faults: Partial<SimNetwork.Faults>, howMany: number, listening = true) => {
    const time = SimTime.make(0, SimRandom.make("1"))
    const network = SimNetwork.make(time, SimRandom.make("1", "network"), { ...SimNetwork.noFaults, ...faults })
    const station = { ready: (task: () => void) => task() }
    let handled = 0
    const application: Application = {
      handle: (_, reply) => {
        handled++
        reply({ status: 200, headers: {}, body: "" })
      },
      misframed: () => ({ status: 400, headers: {}, body: "" })
    }
    const scope = Effect.runSync(Scope.make())
    if (listening) {
      Effect.runSync(
        Scope.extend(Effect.provide(Effect.flatMap(Listener, (listener) => listener.serve(application)), network.layerFor(station)), scope)
      )
    }
    const results: Array<string> = []
    for (let index = 0; index < howMany; index++) network.send(request, 1_000, (result) => results.push(result._tag))
    while (time.advance());
    Effect.runFork(Scope.close(scope, Exit.void))
    return { handled, results }
  }

  const tables: ReadonlyArray<readonly [string, Partial<SimNetwork.Faults>, boolean, number, string]> = [
    ["delivers and answers each request once without faults", {}, true, 50, "Replied"],
    ["handles nothing of a request that is lost on the way in", { requestLoss: 1 }, true, 0, "Lost"],
    ["handles a request whose reply is lost", { replyLoss: 1 }, true, 50, "Lost"],
    ["handles a duplicated request twice and answers it once", { duplication: 1 }, true, 100, "Replied"],
    ["lets nothing come back over a half-open connection", { halfOpen: 1 }, true, 50, "Lost"],
    ["says refused only where nothing listened", {}, false, 0, "Refused"]
  ]
  for (const [name, faults, listening, handled, result] of tables) {
    test(name, () => {
      const sent = send(faults, 50, listening)
      expect(sent.handled).toBe(handled)
      expect(sent.results).toEqual(new Array<string>(50).fill(result))
    })
  }
})
