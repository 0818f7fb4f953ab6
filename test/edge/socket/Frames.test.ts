/** Valid order frames are decoded by hand: no frame is accepted that its schema refuses. */
import * as Either from "effect/Either"
import { expect, test } from "vitest"
import * as Errors from "../../../src/edge/http/Errors.js"
import * as Frames from "../../../src/edge/socket/Frames.js"

const good = { id: "a", idempotencyKey: "", body: { side: "buy" } }
const frames: ReadonlyArray<Readonly<Record<string, unknown>>> = [
  ...["place", "place_batch", "cancel_batch", "cancel_all", "cancel_all_after"].map((op) => ({ op, ...good })),
  ...["amend", "cancel"].map((op) => ({ op, ...good, orderId: "ord_1" }))
]

test.each(frames)("$op is read as it was sent", (frame) => {
  expect(Frames.read(frame)).toEqual(Either.right(frame))
  expect(Either.isRight(Frames.read({ ...frame, id: "~".repeat(64), body: null }))).toBe(true)
  if ("orderId" in frame) expect(Either.isRight(Frames.read({ ...frame, orderId: "ord_\ud83d\ude00" }))).toBe(true)
})

test.each(frames)("nothing of $op may be otherwise", (frame) => {
  const wrongs: ReadonlyArray<Readonly<Record<string, unknown>>> = [
    ...["id", "idempotencyKey", ...("orderId" in frame ? ["orderId"] : [])].flatMap((name) => [{ ...frame, [name]: 1 }, {
      ...frame,
      [name]: null
    }]),
    ...["", " ", "\u007f", "\u00e4", "x".repeat(65), "a\n"].map((id) => ({ ...frame, id })),
    ...Object.keys(frame).filter((name) => name !== "body").map((name) =>
      Object.fromEntries(Object.entries(frame).filter(([each]) => each !== name))
    ),
    { ...frame, more: 1 },
    { ...frame, ticket: "" },
    JSON.parse(JSON.stringify(frame).replace("{", `{"__proto__":1,`)),
    ...("orderId" in frame
      ? ["", "batch", "x".repeat(1_000), "\ud800", "ord_\udc00", "\udc00\ud800"].map((orderId) => ({ ...frame, orderId }))
      : [{ ...frame, orderId: "ord_1" }])
  ]
  const taken = wrongs.filter((wrong) => Either.isRight(Frames.read(wrong)))
  expect(taken).toEqual([])
})

test("an id that is none is refused by its rule, and said again where it is a number or a short text", () => {
  const said = [7, 0.5, -1e308, Infinity, "a b", "\u00e4", "~".repeat(65), "", null, {}].map((id) => {
    const read = Frames.read({ op: "ping", id })
    return [Either.isLeft(read) ? read.left.message : undefined, Frames.idOf({ op: "ping", id })]
  })
  const rule = "id: is a string of 1 to 64 visible ASCII characters."
  // JSON may have a number that is too large for JavaScript, which would be told as null.
  const again = [7, 0.5, -1e308, undefined, "a b", "\u00e4", undefined, undefined, undefined, undefined]
  expect(said).toEqual(again.map((id) => [rule, id]))
  expect(Frames.read({ op: "ping" })).toMatchObject({ left: { message: "The member id is missing." } })
})

test.each(["subscribe", "unsubscribe"])("candles of the mark to %s are not served, as by REST, and nothing else has a series", (op) => {
  const candles = { op, id: "a", channel: "market.candles", marketId: "M", timeframe: "1m" }
  for (const series of ["trade", "index"]) expect(Frames.read({ ...candles, series })).toEqual(Either.right({ ...candles, series }))
  expect(Frames.read({ ...candles, series: "mark" })).toEqual(Either.left(Errors.markCandles))
  expect(Frames.read({ ...candles, series: "last" })).toMatchObject({ left: { description: { code: "invalid_request" } } })
})
