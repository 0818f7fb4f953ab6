/**
 * Records what a market's page does, frame by frame: what the stream sends of the book, what the page shows after that, and what is typed
 * meanwhile. It runs in the page, and counts frames and not time: a slow machine has fewer of them, and the same holds for each.
 */
import { createHash } from "node:crypto"
import type { Page } from "playwright-core"
import { depth } from "../../src/console/state/market/Ladder.js"

/** Prices and sizes, best first, as many as the page has rows. */
export interface Levels {
  readonly bids: ReadonlyArray<ReadonlyArray<string>>
  readonly asks: ReadonlyArray<ReadonlyArray<string>>
}

/** The book that the page shows at one moment, and its record. */
export interface Sample {
  readonly sequence: number
  readonly book: Levels
}

interface Change {
  readonly side: "bid" | "ask"
  readonly price: string
  readonly priceAtoms: string
  readonly size: string
  readonly sizeAtoms: string
}
type Level = Omit<Change, "side">

type Sides<A> = Readonly<Record<"bids" | "asks", ReadonlyArray<A>>>

/** One message of the stream about the book. */
type Told =
  | { readonly type: "snapshot"; readonly sequence: number; readonly data: Sides<Level> & { readonly checksum: string } }
  | {
    readonly type: "update"
    readonly previousSequence: number
    readonly sequence: number
    readonly data: ReadonlyArray<Change>
    readonly checksum?: string
  }

/** The time from just before one painting to just before the next. */
interface Frame {
  /** The last record received before, if the page did not show it yet; 0 if it showed everything. */
  readonly due: number
  /** How often it showed another book. */
  readonly shows: number
  /** The record that it showed at the end. */
  readonly shown: number
}

interface Input {
  readonly field: string
  readonly value: string
  readonly isPreviewed: boolean
}

export interface Seen {
  readonly told: ReadonlyArray<Told>
  readonly frames: ReadonlyArray<Frame>
  /** The book after each change of what the page shows. */
  readonly samples: ReadonlyArray<Sample>
  readonly keys: ReadonlyArray<string>
  readonly inputs: ReadonlyArray<Input>
  /** Fields that at a frame did not hold what had been typed into them, or had lost the focus. */
  readonly strays: ReadonlyArray<string>
}

/** The source of a function that reads the book from the page. */
export const reading = `() => ({
  sequence: Number(document.querySelector(".book [role=table]").dataset.sequence),
  book: Object.fromEntries(["bids", "asks"].map((side) => {
    const rows = [...document.querySelectorAll("." + side + " .level")].map((row) => [".price", ".size"].map((part) =>
      row.querySelector(part).lastChild.textContent.replaceAll(",", "")))
    return [side, (side === "asks" ? rows.reverse() : rows).filter(([price]) => price !== "\\u2013")]
  }))
})`

/**
 * It hears each message first, since it is installed before the page's own listener, and is first in every frame, since it requests the
 * next one before anything else can.
 */
const recorder = (marketId: string): string =>
  `(() => {
  const read = ${reading}
  const seen = { told: [], frames: [], samples: [], keys: [], inputs: [], strays: [] }
  const typed = new Map()
  let told = 0, shows = 0, frame, focused, waiting = []
  const Socket = WebSocket
  globalThis.WebSocket = class extends Socket {
    constructor(...all) {
      super(...all)
      this.addEventListener("message", ({ data }) => {
        const message = JSON.parse(data)
        if (message.channel !== "market.book" || message.marketId !== ${JSON.stringify(marketId)}) return
        if (message.type !== "snapshot" && message.type !== "update") return
        told = message.sequence
        seen.told.push(message)
      })
    }
  }
  const begin = (table) => {
    new MutationObserver((changes) => {
      const count = changes.filter(({ attributeName }) => attributeName === "data-sequence").length
      shows += count
      frame.shows += count
      seen.samples.push(read())
    }).observe(table, { subtree: true, childList: true, characterData: true, attributeFilter: ["data-sequence"] })
  }
  const atFrame = () => {
    requestAnimationFrame(atFrame)
    const table = document.querySelector(".book [role=table]")
    const shown = Number(table?.dataset.sequence ?? 0)
    if (frame !== undefined) seen.frames.push({ ...frame, shown })
    // What comes before the page shows any book is not looked at.
    else if (shown > 0) begin(table)
    if (shown > 0) frame = { due: told > shown ? told : 0, shows: 0 }
    for (const [field, value] of typed) if (field.value !== value) seen.strays.push(field.id + " holds " + field.value + ", not " + value)
    if (focused !== undefined && document.activeElement !== focused) seen.strays.push(focused.id + " has lost the focus")
    waiting = waiting.filter(({ from, count, done }) => shows < from + count || done())
  }
  requestAnimationFrame(atFrame)
  addEventListener("keydown", ({ key }) => seen.keys.push(key), true)
  addEventListener("focusin", ({ target }) => focused = target, true)
  addEventListener("input", ({ target }) => {
    typed.set(target, target.value)
    const isPreviewed = document.querySelector(".ticket .preview") !== null
    seen.inputs.push({ field: target.id, value: target.value, isPreviewed })
  }, true)
  globalThis.recorder = {
    seen,
    frame: () => new Promise((done) => requestAnimationFrame(() => done())),
    shownAnew: (count) => new Promise((done) => waiting.push({ from: shows, count, done }))
  }
})()`

export class Recorder {
  private constructor(private readonly page: Page) {}

  /** Starts in a page with no market open, for one that is opened without loading the page again. */
  static async begin(page: Page, marketId: string): Promise<Recorder> {
    await page.evaluate(recorder(marketId))
    return new Recorder(page)
  }

  /** Waits until the page has shown another book `count` times. */
  async shownAnew(count: number): Promise<void> {
    await this.page.evaluate(`recorder.shownAnew(${count})`)
  }

  /** Waits until the page is painted. */
  async painted(): Promise<void> {
    await this.page.evaluate("recorder.frame()")
  }

  async seen(): Promise<Seen> {
    return await this.page.evaluate("recorder.seen") as Seen
  }
}

const checksumDepth = 25

/** A book built only from what the stream sent. */
class Book {
  private readonly sides = { bid: new Map<number, Level>(), ask: new Map<number, Level>() }

  take(told: Told): void {
    const { ask, bid } = this.sides
    const set = (side: Map<number, Level>, level: Level): unknown =>
      level.sizeAtoms === "0" ? side.delete(Number(level.priceAtoms)) : side.set(Number(level.priceAtoms), level)
    if (told.type === "update") {
      for (const change of told.data) set(this.sides[change.side], change)
      return
    }
    bid.clear()
    ask.clear()
    for (const level of told.data.bids) set(bid, level)
    for (const level of told.data.asks) set(ask, level)
  }

  best(count: number): Sides<Level> {
    const sorted = (side: Map<number, Level>, sign: 1 | -1) => [...side].sort(([one], [other]) => sign * (one - other))
    const of = (side: Map<number, Level>, sign: 1 | -1) => sorted(side, sign).slice(0, count).map(([, level]) => level)
    return { bids: of(this.sides.bid, -1), asks: of(this.sides.ask, 1) }
  }

  checksum(): string {
    const { asks, bids } = this.best(checksumDepth)
    const line = (name: string) => ({ priceAtoms, sizeAtoms }: Level) => `${name}|${priceAtoms}|${sizeAtoms}`
    return `sha256:${createHash("sha256").update([...bids.map(line("b")), ...asks.map(line("a"))].join("\n")).digest("hex")}`
  }
}

/** The levels in the form of the page's rows. */
export const levels = ({ asks, bids }: Sides<Pick<Level, "price" | "size">>): Levels => {
  const best = (side: ReadonlyArray<Pick<Level, "price" | "size">>) => side.slice(0, depth).map(({ price, size }) => [price, size])
  return { bids: best(bids), asks: best(asks) }
}

/**
 * The books received, by record, as far as requested, and the checksum of the last one. It is a fault if a message does not continue the
 * one before, or if its checksum does not match.
 */
export const booksOf = (told: ReadonlyArray<Told>, wanted: ReadonlySet<number>) => {
  const book = new Book()
  const books = new Map<number, Levels>()
  const faults: Array<string> = []
  let last = 0
  for (const each of told) {
    const { sequence, type } = each
    if (type === "update" && each.previousSequence !== last) faults.push(`${sequence} follows on ${each.previousSequence}, not ${last}`)
    last = sequence
    book.take(each)
    const checksum = type === "snapshot" ? each.data.checksum : each.checksum
    if (checksum !== undefined && checksum !== book.checksum()) faults.push(`${sequence} has another book's checksum`)
    if (wanted.has(sequence)) books.set(sequence, levels(book.best(depth)))
  }
  return { books, faults, last, checksum: book.checksum() }
}
