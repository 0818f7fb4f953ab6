/**
 * Captures of a made-up market in the format of recorded ones: a book that wanders, trades at its best prices, quotes between the book
 * messages, and a spot price beside it. The same seed makes the same files.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { gzipSync } from "node:zlib"

export interface Captures {
  readonly folder: string
  readonly perpetual: string
  readonly spot: string
  /** The number of messages of each kind in the files. */
  readonly bookMessages: number
  readonly trades: number
  readonly spotTrades: number
}

const startNs = 1_700_000_000_000_000_000n

/** Writes lines as a gzip file. */
export const write = (file: string, lines: ReadonlyArray<string>): string => {
  fs.writeFileSync(file, gzipSync(lines.map((line) => `${line}\n`).join("")))
  return file
}

export const newFolder = (): string => fs.mkdtempSync(path.join(os.tmpdir(), "tape-"))

/** A captured line, `us` microseconds after the start. */
export const lineAt = (us: number, message: unknown): string => `${startNs + BigInt(us) * 1000n + 7n} ${JSON.stringify(message)}`

const draws = (seed: number): (below: number) => number => {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const decimal = (atoms: number, scale: number, printed: number): string => (atoms / 10 ** scale).toFixed(printed)

/** Levels per side that change from step to step, including some beyond what a mirror shows. */
const levels = 30

/** A market of `steps` steps; `driftAtoms`: by how much its price moves per step besides chance. */
export const captures = (seed: number, steps: number, driftAtoms = 0): Captures => {
  const draw = draws(seed)
  const folder = newFolder()
  const perpetual: Array<string> = []
  const spot: Array<string> = []
  let middle = 600_000
  let updateId = 1_000
  let us = 0
  let trades = 0
  let book = new Map<string, number>()

  const shape = (): Map<string, number> => {
    const shaped = new Map<string, number>()
    for (let index = 0; index < levels; index++) {
      for (const [side, price] of [["b", middle - 1 - index], ["a", middle + index]] as const) {
        // Most levels stay unchanged: like a real one, a step changes only a part of the book.
        const size = draw(4) === 0 ? 1 + draw(3_000) : book.get(`${side}${price}`) ?? 1 + draw(3_000)
        if (index === 0 || draw(12) !== 0) shaped.set(`${side}${price}`, size)
      }
    }
    return shaped
  }
  const pair = (key: string, size: number): readonly [string, string] => [decimal(Number(key.slice(1)), 1, 2), decimal(size, 3, 3)]
  const sideOf = (changes: ReadonlyMap<string, number>, side: string) =>
    [...changes].filter(([key]) => key.startsWith(side)).map(([key, size]) => pair(key, size))

  const depth = (): void => {
    const next = shape()
    const changes = new Map<string, number>()
    for (const key of book.keys()) if (!next.has(key)) changes.set(key, 0)
    for (const [key, size] of next) if (book.get(key) !== size) changes.set(key, size)
    book = next
    const previous = updateId
    updateId += 1 + draw(50)
    const data = { e: "depthUpdate", U: previous + 1, u: updateId, pu: previous, b: sideOf(changes, "b"), a: sideOf(changes, "a") }
    perpetual.push(lineAt(us, { stream: "x@depth@0ms", data }))
  }
  const ticker = (): void => {
    const best = (side: "b" | "a") => pair(`${side}${side === "b" ? middle - 1 : middle}`, 1 + draw(3_000))
    const [bid, ask] = [best("b"), best("a")]
    // Its update is part of the next book message, as if the book had moved at this moment.
    const data = { e: "bookTicker", u: updateId + 1, b: bid[0], B: bid[1], a: ask[0], A: ask[1] }
    perpetual.push(lineAt(us, { stream: "x@bookTicker", data }))
  }
  const trade = (): void => {
    const buyerIsMaker = draw(2) === 0
    const price = buyerIsMaker ? middle - 1 - draw(2) : middle + draw(2)
    const data = { e: "trade", p: decimal(price, 1, 2), q: decimal(1 + draw(2_000), 3, 3), X: "MARKET", m: buyerIsMaker }
    perpetual.push(lineAt(us, { stream: "x@trade", data }))
    trades++
  }

  // Two updates before the snapshot; the snapshot includes the first and not the second.
  depth()
  const snapshot = { lastUpdateId: updateId, bids: sideOf(book, "b"), asks: sideOf(book, "a") }
  us += 1_000
  depth()
  us += 1_000
  perpetual.push(lineAt(us, snapshot))
  let bookMessages = 3
  let spotTrades = 0
  for (let step = 0; step < steps; step++) {
    us += 50_000
    middle += draw(7) - 3 + driftAtoms
    depth()
    bookMessages++
    for (let count = draw(4); count > 0; count--) {
      us += 500
      trade()
    }
    us += 500
    ticker()
    if (step % 2 === 0) {
      spot.push(lineAt(us, { stream: "x@trade", data: { e: "trade", p: `${decimal(middle, 1, 1)}5000000`, q: "0.02000000", m: true } }))
      spotTrades++
    }
  }
  return {
    folder,
    perpetual: write(path.join(folder, "usdm_made.gz"), perpetual),
    spot: write(path.join(folder, "spot_made.gz"), spot),
    bookMessages,
    trades,
    spotTrades
  }
}
