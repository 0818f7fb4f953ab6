/**
 * Challenges that are open for an owner: each may be answered for five minutes, even if the clock is changed meanwhile, and once, even if
 * the answer to the owner is lost.
 */
import { Effect, Exit, Fiber } from "effect"
import { describe, expect, test } from "vitest"
import { Approvals, type Question } from "../../src/funds/Approvals.js"

const minuteMs = 60_000
const start = 1_800_000_000_000

const questions = (most?: number) => {
  let drawn = 0
  const approvals = new Approvals<string>({ bytes: (count) => Buffer.from(String(++drawn).padStart(count)) }, most)
  const ask = (key: string, atMinute: number, account = 1) =>
    approvals.ask(account, key, key, (nonce) => nonce, start + atMinute * minuteMs)
  /** The result of an answer: by default the question that it decides. */
  const answered = (
    { challengeIdentifier }: { readonly challengeIdentifier: string },
    decide: (question: Question<string>) => Effect.Effect<Question<string>, string> = Effect.succeed,
    { atMinute = 0, by = "me" }: { readonly atMinute?: number; readonly by?: string } = {}
  ) =>
    approvals.answered({ challengeIdentifier, by }, start + atMinute * minuteMs, decide, (isAccepted) =>
      Effect.succeed(isAccepted ? "accepted" : "over"), (failure) => failure === "no room")
  const take = (challengeIdentifier: string, atMinute: number) => Effect.runSync(answered({ challengeIdentifier }, undefined, { atMinute }))
  return { answered, approvals, ask, take }
}

/** Minutes at which a question is asked under one key, and whether the second is the same question as the first. */
const askedTwice: ReadonlyArray<readonly [what: string, others: ReadonlyArray<number>, first: number, second: number, isSame: boolean]> = [
  ["while it is open", [], 0, 4.9, true],
  ["when it is over", [], 0, 5, false],
  ["behind one that was asked by a clock that was ahead", [60], 0, 6, false],
  ["behind one of little ahead, which is open yet", [2], 0, 5.5, false],
  ["by a clock that was set back by an hour", [], 60, 0, false],
  ["by a clock that was set back, and not asked before", [60], 0, 1, true]
]

test.each(askedTwice)("asked again %s", (_, others, first, second, isSame) => {
  const { ask, take } = questions()
  others.forEach((minute, index) => ask(`other ${index}`, minute))
  const before = ask("mine", first)!
  const again = ask("mine", second)!
  expect(again.challengeIdentifier === before.challengeIdentifier).toBe(isSame)
  const leftMinutes = (again.expiresAtEpochMs - start) / minuteMs - second
  expect([leftMinutes > 0, leftMinutes <= 5]).toEqual([true, true])
  if (!isSame) expect(take(before.challengeIdentifier, second)).toBe("over")
  expect(take(again.challengeIdentifier, second)).toBe(again)
})

test("what was asked by a clock that was ahead is over, and keeps nobody's place", () => {
  const { approvals, ask, take } = questions(2)
  const [one, other] = [ask("one", 60)!, ask("other", 61)!]
  expect(take(one.challengeIdentifier, 0)).toBe("over")
  expect(ask("mine", 0)).toBeDefined()
  expect(take(other.challengeIdentifier, 61)).toBe("over")
  expect(approvals.count).toBe(1)
})

test("an account loses its own oldest beyond sixteen, and nobody else's", () => {
  const { approvals, ask, take } = questions()
  const other = ask("other", 0, 2)!
  const own = Array.from({ length: 18 }, (_, at) => ask(`own ${at}`, 0)!)
  expect(approvals.count).toBe(17)
  const taken = own.map((each) => take(each.challengeIdentifier, 1))
  expect(taken).toEqual([...own.map(() => "over").slice(0, 2), ...own.slice(2)])
  // What was lost is asked for anew.
  expect(ask("own 0", 1)!.challengeIdentifier).not.toBe(own[0]!.challengeIdentifier)
  expect(take(other.challengeIdentifier, 1)).toBe(other)
})

test("where all places are taken, a newcomer gets one of the account that has most", () => {
  const { approvals, ask, take } = questions(4)
  const other = ask("other", 0, 2)!
  const own = ["a", "b", "c"].map((key) => ask(key, 0)!)
  const third = ask("third", 0, 3)!
  expect(approvals.count).toBe(4)
  expect(take(own[0]!.challengeIdentifier, 1)).toBe("over")
  for (const each of [other, ...own.slice(1), third]) expect(take(each.challengeIdentifier, 1)).toBe(each)
  expect(approvals.count).toBe(0)
})

describe("while an answer is decided", () => {
  /** A question whose answer is being decided, and a function that ends that. */
  const scene = () => {
    const all = questions(2)
    const question = all.ask("mine", 0)!
    let end: (decision: Effect.Effect<Question<string>, string>) => void = () => {}
    const first = Effect.runFork(all.answered(question, () => Effect.async((resume) => void (end = resume))))
    return { ...all, end: (decision: Effect.Effect<Question<string>, string>) => end(decision), first, question }
  }

  type Scene = ReturnType<typeof scene>
  const endings: ReadonlyArray<readonly [how: string, end: (of: Scene) => unknown, told: string]> = [
    ["accepted", ({ end, question }) => end(Effect.succeed(question)), "accepted"],
    ["refused", ({ end }) => end(Effect.fail("refused")), "over"],
    ["a defect", ({ end }) => end(Effect.die("a defect")), "over"],
    ["interrupted", ({ first }) => Effect.runPromise(Fiber.interrupt(first)), "over"]
  ]

  test.each(endings)("the same answer waits for the first one, which is %s, and everything is let go of", async (_, end, told) => {
    const all = scene()
    const { answered, approvals, ask, first, question } = all
    const decidedTwice = () => Effect.dieMessage("it is decided twice")
    const others = [1, 2].map(() => Effect.runFork(answered(question, decidedTwice)))
    expect(others.map((other) => other.unsafePoll())).toEqual([null, null])
    await end(all)
    await Effect.runPromise(Fiber.await(first))
    for (const other of others) expect(await Effect.runPromise(Fiber.join(other))).toBe(told)
    expect(Effect.runSync(answered(question, decidedTwice))).toBe("over")
    expect(approvals.count).toBe(0)
    expect(ask("mine", 0)!.challengeIdentifier).not.toBe(question.challengeIdentifier)
  })

  test("another answer waits for nothing, the same is not asked anew, and nobody else takes its place", async () => {
    const { answered, approvals, ask, end, first, question } = scene()
    expect(Effect.runSync(answered(question, undefined, { by: "another" }))).toBe("over")
    expect(ask("mine", 0)).toBeUndefined()
    expect(ask("mine", 6)).toBeUndefined()
    const other = ask("other", 6, 2)!
    expect([ask("a third", 6, 3), approvals.count]).toEqual([expect.anything(), 3])
    const second = Effect.runFork(answered(other, () => Effect.never, { atMinute: 6 }))
    // As many are being decided as there are places.
    expect([ask("one too many", 6, 4), approvals.count]).toEqual([undefined, 3])
    end(Effect.succeed(question))
    expect(await Effect.runPromise(Fiber.join(first))).toBe(question)
    expect(ask("one too many", 6, 4)).toBeDefined()
    await Effect.runPromise(Fiber.interrupt(second))
  })

  test("whoever waits may leave, and the first goes on", async () => {
    const { answered, end, first, question } = scene()
    const waiting = Effect.runFork(answered(question))
    expect(Exit.isInterrupted(await Effect.runPromise(Fiber.interrupt(waiting)))).toBe(true)
    end(Effect.succeed(question))
    expect(await Effect.runPromise(Fiber.join(first))).toBe(question)
  })
})

test("one that there was no room to decide stays open, and whoever waits for that decides it himself", async () => {
  const { answered, approvals, ask, take } = questions()
  const asked = ask("mine", 0)!
  const decide: { now?: (exit: Effect.Effect<never, string>) => void } = {}
  const first = Effect.runFork(Effect.either(answered(asked, () => Effect.async<never, string>((resume) => void (decide.now = resume)))))
  await Promise.resolve()
  const again = Effect.runFork(Effect.either(answered(asked)))
  await Promise.resolve()
  expect(ask("mine", 1)).toBeUndefined()
  decide.now!(Effect.fail("no room"))
  expect(await Effect.runPromise(Fiber.join(first))).toMatchObject({ _tag: "Left", left: "no room" })
  expect(await Effect.runPromise(Fiber.join(again))).toMatchObject({ _tag: "Right", right: { challenge: asked.challenge } })
  expect(approvals.count).toBe(0)

  const other = ask("other", 1)!
  expect(Effect.runSync(Effect.either(answered(other, () => Effect.fail("no room"), { atMinute: 1 })))._tag).toBe("Left")
  expect([approvals.count, ask("other", 2)]).toEqual([1, other])
  expect(take(other.challengeIdentifier, 6)).toBe("over")
})
