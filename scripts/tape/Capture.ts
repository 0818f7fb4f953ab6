/**
 * Recorded captures as messages: gzip files of lines `<receive time, ns> <JSON message>`, unpacked as they are read
 * and merged by receive time. Holds one chunk and one message of each file, whatever the files' lengths.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { StringDecoder } from "node:string_decoder"
import { createGunzip } from "node:zlib"
import * as Units from "../../src/domain/Units.js"

/** Decimals of prices and sizes on the tape's market: price atoms are 10^-1, size atoms 10^-3. */
export const priceScale = 1
export const quantityScale = 3

/** A price level: price atoms, and the size atoms that replace the previous size (0: the level is empty). */
export type Level = readonly [priceAtoms: number, sizeAtoms: number]

/** A captured message, with its time of receipt in microseconds since the Unix epoch. */
export type Message =
  | {
    readonly _tag: "Snapshot"
    readonly atEpochUs: number
    readonly updateId: number
    readonly bids: ReadonlyArray<Level>
    readonly asks: ReadonlyArray<Level>
  }
  | {
    readonly _tag: "Depth"
    readonly atEpochUs: number
    /** The last update in the message. */
    readonly updateId: number
    /** The last update of the previous message. */
    readonly previousId: number
    readonly bids: ReadonlyArray<Level>
    readonly asks: ReadonlyArray<Level>
  }
  | { readonly _tag: "Ticker"; readonly atEpochUs: number; readonly updateId: number; readonly bid: Level; readonly ask: Level }
  | {
    readonly _tag: "Trade"
    readonly atEpochUs: number
    readonly priceAtoms: number
    readonly sizeAtoms: number
    readonly takerSide: "buy" | "sell"
  }
  | { readonly _tag: "SpotTrade"; readonly atEpochUs: number; readonly priceAtoms: number }

/** A line with a wrong format, or a file that cannot be read. */
export class CaptureFault extends Error {
  override readonly name = "CaptureFault"
}

/** The market of a file, by its name: `usdm_...` or `spot_...`. */
export type Kind = "perpetual" | "spot"

/** The market that a file's name indicates. */
export const kindOf = (file: string): Kind => {
  const name = path.basename(file)
  if (name.startsWith("usdm_")) return "perpetual"
  if (name.startsWith("spot_")) return "spot"
  throw new CaptureFault(`${file}: a capture's name starts with usdm_ (the perpetual) or spot_ (the index)`)
}

/** Far above a snapshot of 1000 levels a side. */
const longestLine = 4 * 1024 * 1024

/** The lines of a gzip file, without their ends. */
async function* lines(file: string): AsyncGenerator<string> {
  const source = fs.createReadStream(file)
  const unpacked = createGunzip()
  source.on("error", (error) => unpacked.destroy(error))
  source.pipe(unpacked)
  const decoder = new StringDecoder("utf8")
  let rest = ""
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      rest += decoder.write(chunk)
      let start = 0
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", start)) {
        yield rest.slice(start, end)
        start = end + 1
      }
      rest = rest.slice(start)
      if (rest.length > longestLine) throw new CaptureFault("a line is longer than any message")
    }
    rest += decoder.end()
    if (rest !== "") yield rest
  } finally {
    source.destroy()
    unpacked.destroy()
  }
}

const fault = (what: string): CaptureFault => new CaptureFault(what)

const text = (value: unknown, what: string): string => {
  if (typeof value !== "string") throw fault(`${what} is not text`)
  return value
}

const id = (value: unknown, what: string): number => {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw fault(`${what} is not a whole number`)
  return value
}

/** Atoms of a decimal that lies on the grid of `scale` decimals; a finer one is an error. */
const onGrid = (value: unknown, scale: number, what: string): number => {
  const decimal = text(value, what)
  const dot = decimal.indexOf(".")
  let end = decimal.length
  if (dot >= 0) {
    while (end > dot + 1 + scale && decimal[end - 1] === "0") end--
    if (end === dot + 1) end = dot
  }
  const atoms = Units.parseDecimal(decimal.slice(0, end), scale)
  if (typeof atoms !== "number") throw fault(`${what} ${decimal} is ${atoms}`)
  if (atoms < 0) throw fault(`${what} ${decimal} is negative`)
  return atoms
}

/** Decimals in which spot prices are recorded. */
const spotScale = 8

/** Price atoms nearest to a spot price, whose grid is finer than the perpetual's; half goes up. */
const nearestPrice = (value: unknown): number =>
  Units.mulDivHalfUp(onGrid(value, spotScale, "a spot price"), 1, Units.powerOfTen(spotScale - priceScale))

const level = (price: unknown, size: unknown): Level => [
  onGrid(price, priceScale, "a price"),
  onGrid(size, quantityScale, "a size")
]

const levels = (value: unknown, what: string): ReadonlyArray<Level> => {
  if (!Array.isArray(value)) throw fault(`${what} are not a list`)
  return value.map((entry: unknown) => {
    if (!Array.isArray(entry)) throw fault(`one of ${what} is not a pair`)
    return level(entry[0], entry[1])
  })
}

const line = /^(\d{15,19}) (\{.*\})\s*$/

/** The message in a line; undefined for kinds that a tape does not use. */
export const parse = (kind: Kind, content: string): Message | undefined => {
  const found = line.exec(content)
  if (found === null) throw fault("the line is not `<ns> <JSON>`")
  const atEpochUs = Number(found[1]!.slice(0, -3))
  let message: Record<string, unknown>
  try {
    message = JSON.parse(found[2]!) as Record<string, unknown>
  } catch {
    throw fault("the message is not JSON")
  }
  const data = (message["data"] ?? message) as Record<string, unknown>
  if (kind === "spot") {
    return data["e"] === "trade" ? { _tag: "SpotTrade", atEpochUs, priceAtoms: nearestPrice(data["p"]) } : undefined
  }
  if (data["lastUpdateId"] !== undefined) {
    return {
      _tag: "Snapshot",
      atEpochUs,
      updateId: id(data["lastUpdateId"], "lastUpdateId"),
      bids: levels(data["bids"], "bids"),
      asks: levels(data["asks"], "asks")
    }
  }
  switch (data["e"]) {
    case "depthUpdate":
      return {
        _tag: "Depth",
        atEpochUs,
        updateId: id(data["u"], "u"),
        previousId: id(data["pu"], "pu"),
        bids: levels(data["b"], "bids"),
        asks: levels(data["a"], "asks")
      }
    case "bookTicker":
      return {
        _tag: "Ticker",
        atEpochUs,
        updateId: id(data["u"], "u"),
        bid: level(data["b"], data["B"]),
        ask: level(data["a"], data["A"])
      }
    case "trade": {
      // The capture also contains liquidation and insurance fund transfers; only trades in the book are replayed.
      if ((data["X"] ?? "MARKET") !== "MARKET") return undefined
      const [priceAtoms, sizeAtoms] = level(data["p"], data["q"])
      if (typeof data["m"] !== "boolean") throw fault("m is neither true nor false")
      return { _tag: "Trade", atEpochUs, priceAtoms, sizeAtoms, takerSide: data["m"] ? "sell" : "buy" }
    }
    default:
      return undefined
  }
}

/** The messages of a file, in order. An error names file and line. */
export async function* read(file: string): AsyncGenerator<Message> {
  const kind = kindOf(file)
  let number = 0
  try {
    for await (const content of lines(file)) {
      number++
      const message = parse(kind, content)
      if (message !== undefined) yield message
    }
  } catch (error) {
    throw new CaptureFault(`${file}, after line ${number}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The messages of several files by time of receipt; within the same microsecond, in the order of the files. */
export async function* merge(files: ReadonlyArray<string>): AsyncGenerator<Message> {
  const readers = files.map(read)
  const heads: Array<Message | undefined> = []
  const advance = async (index: number): Promise<void> => {
    const next = await readers[index]!.next()
    heads[index] = next.done === true ? undefined : next.value
  }
  try {
    for (let index = 0; index < readers.length; index++) await advance(index)
    for (;;) {
      let first = -1
      for (let index = 0; index < heads.length; index++) {
        const head = heads[index]
        if (head !== undefined && (first < 0 || head.atEpochUs < heads[first]!.atEpochUs)) first = index
      }
      if (first < 0) return
      yield heads[first]!
      await advance(first)
    }
  } finally {
    for (const reader of readers) await reader.return(undefined)
  }
}
