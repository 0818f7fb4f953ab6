/** Turns of the connections' work: how long a turn is, and that every connection gets its turn however many there are. */
import { expect, test } from "vitest"
import { Rotation, urgentPerTurn } from "../../../src/edge/http/Rotation.js"

/** A rotation on a clock that moves with the work, with its deferred work under the test's control. */
const made = (urgentOfNetwork?: number) => {
  const soon: Array<() => void> = []
  const next: Array<() => void> = []
  let nowMs = 0
  const rotation = new Rotation((turn) => soon.push(turn), (goOn) => next.push(goOn), () => nowMs, urgentOfNetwork)
  const behind = (): void => {
    for (let goOn = next.shift(); goOn !== undefined; goOn = next.shift()) goOn()
  }
  return {
    rotation,
    /** Runs the requested turn and whatever was deferred; whether a turn was requested. */
    turn: (): boolean => {
      const turn = soon.shift()
      turn?.()
      behind()
      return turn !== undefined
    },
    /** Defers work that takes this long. */
    putOff: (ms: number) => next.push(() => (nowMs += ms)),
    pass: (ms: number) => (nowMs += ms)
  }
}

test.each([
  ["the steps themselves", "pass"],
  ["what they put off", "putOff"]
] as const)("a turn is as long as %s take", (_, how) => {
  const { rotation, turn, ...clock } = made()
  const done: Array<number> = []
  for (let worker = 0; worker < 40; worker++) {
    rotation.add({
      origin: "a",
      step: () => {
        clock[how](0.125)
        done.push(worker)
        return false
      }
    })
  }
  for (let turns = 1; turns <= 10; turns++) {
    expect(turn()).toBe(true)
    expect(done).toHaveLength(4 * turns)
  }
  expect(done).toEqual(Array.from({ length: 40 }, (_, worker) => worker))
  expect(turn()).toBe(false)
})

test("whoever has more to do goes behind all others", () => {
  const { pass, rotation, turn } = made()
  const done: Array<string> = []
  const worker = (name: string, steps: number) =>
    rotation.add({
      origin: "a",
      step: () => {
        pass(0.2)
        done.push(name)
        return --steps > 0
      }
    })
  worker("flood", 5)
  worker("a", 1)
  worker("b", 2)
  while (turn());
  expect(done).toEqual(["flood", "a", "b", "flood", "b", "flood", "flood", "flood"])
})

test("between two turns so many go first, and none while somebody waits", () => {
  const { rotation, turn } = made()
  const first = Array.from({ length: 40 }, () => rotation.mayGoFirst())
  expect(first.filter(Boolean)).toHaveLength(16)
  expect(turn()).toBe(true)
  expect(rotation.mayGoFirst()).toBe(true)
  rotation.add({ origin: "a", step: () => false })
  expect(rotation.mayGoFirst()).toBe(false)
  const urgent = Array.from({ length: 40 }, (_, at) => rotation.mayGoBeforeAll(`192.0.2.${at}`))
  expect(urgent.filter(Boolean)).toHaveLength(16)
})

test("of those that are urgent one network leaves others their places, however many addresses it has", () => {
  const { rotation, turn } = made()
  const waits = (): void => rotation.add({ origin: "a", step: () => false })
  waits()
  const urgent = Array.from({ length: 40 }, (_, at) => rotation.mayGoBeforeAll(`2001:db8:1:${at.toString(16)}::/64`))
  expect(urgent.filter(Boolean)).toHaveLength(4)
  expect(rotation.mayGoBeforeAll("2001:db8:2:1::/64")).toBe(true)
  expect(turn()).toBe(true)
  waits()
  expect(rotation.mayGoBeforeAll("2001:db8:1:1::/64")).toBe(true)
})

test("a proxy's network has the places of all, and no more than there are in a turn", () => {
  const { rotation } = made(urgentPerTurn)
  rotation.add({ origin: "a", step: () => false })
  const urgent = Array.from({ length: 40 }, () => rotation.mayGoBeforeAll("192.0.2.1"))
  expect(urgent.filter(Boolean)).toHaveLength(16)
})

test("an address has a step a round, however many connections it has, and these take turns", () => {
  const { pass, rotation, turn } = made()
  const done: Array<string> = []
  const worker = (origin: string, name: string, steps: number) =>
    rotation.add({
      origin,
      step: () => {
        pass(0.2)
        done.push(name)
        return --steps > 0
      }
    })
  for (let at = 0; at < 4; at++) worker("flood", `flood ${at}`, 2)
  worker("a", "a", 2)
  worker("b", "b", 1)
  while (turn());
  expect(done).toEqual(["flood 0", "a", "b", "flood 1", "a", "flood 2", "flood 3", "flood 0", "flood 1", "flood 2", "flood 3"])
})

test("a network has a step a round, however many addresses it has, and these take turns", () => {
  const { pass, rotation, turn } = made()
  const done: Array<string> = []
  const worker = (origin: string, steps: number) =>
    rotation.add({
      origin,
      step: () => {
        pass(0.2)
        done.push(origin)
        return --steps > 0
      }
    })
  const crowd = Array.from({ length: 3 }, (_, at) => `2001:db8:1:${at}::/64`)
  for (const origin of crowd) worker(origin, 2)
  worker("192.0.2.1", 3)
  worker("2001:db8:2:0::/64", 1)
  while (turn());
  const [first, second, third] = crowd
  expect(done).toEqual([first, "192.0.2.1", "2001:db8:2:0::/64", second, "192.0.2.1", third, "192.0.2.1", first, second, third])
})
