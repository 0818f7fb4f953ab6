/**
 * The market's page in a real browser against the real venue: the live book of a market that a tape is played on, and an owner's orders
 * from their preview to their end. The tape is the recorded one where it is beside this working copy (or in `RECORDINGS`), and a
 * made-up one otherwise. Where there is no Chromium these tests are skipped, by their names.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import type { Browser, WebSocketRoute } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import * as Run from "../../scripts/tape/Run.js"
import { type Client, connect, LocalBook } from "../../src/client/venue/node.js"
import { depth } from "../../src/console/state/market/Ladder.js"
import * as Synthetic from "../tape/Synthetic.js"
import * as Chromium from "./Chromium.js"
import { Tab } from "./Chromium.js"
import { freePort } from "./FreePort.js"

const recordings = process.env["RECORDINGS"] ?? fileURLToPath(new URL("../../../../shared/data", import.meta.url))
const recorded = ["usdm_btcusdt_20240808.gz", "spot_btcusdt_20240808.gz"].map((name) => path.join(recordings, name))

const marketId = "BTC-USDC-PERP"
const tapeMarketId = "TAPEBTC-USDC-PERP"
/** Prices and sizes, best first, as many as the page has rows for. */
interface Levels {
  readonly bids: ReadonlyArray<ReadonlyArray<string>>
  readonly asks: ReadonlyArray<ReadonlyArray<string>>
}

const levels = ({ asks, bids }: Pick<LocalBook, "asks" | "bids">): Levels => {
  const best = (side: LocalBook["bids"]) => side.slice(0, depth).map(({ price, size }) => [price, size])
  return { bids: best(bids), asks: best(asks) }
}

const landmarks = ["banner", "navigation", "main", "contentinfo"]

describe.skipIf(Chromium.executable === undefined)("a market in Chromium", { timeout: 60_000 }, () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "venue-market-page-"))
  const dataDir = path.join(folder, "data")
  let venue: VenueProcess
  let browser: Browser
  let tab: Tab
  let origin: string
  let maker: Client

  beforeAll(async () => {
    if (Chromium.executable === undefined) return
    const port = await freePort()
    origin = `http://localhost:${port}`
    const starting = VenueProcess.start(dataDir, { PORT: String(port) })
    browser = await Chromium.launch(Chromium.executable)
    tab = await Tab.open(browser)
    tab.page.setDefaultTimeout(15_000)
    venue = await starting
    const [account] = await venue.demoAccounts(1)
    maker = connect({ url: origin, apiKey: account!.apiKey, accountId: account!.accountId })
  }, 60_000)

  afterAll(async () => {
    await maker?.close()
    await browser?.close()
    await venue?.kill()
    fs.rmSync(folder, { recursive: true, force: true })
  })

  const operatorToken = (): string => fs.readFileSync(path.join(dataDir, "operator-token"), "utf8").trim()
  const button = (name: string | RegExp) => tab.page.getByRole("button", { name, exact: typeof name === "string" })
  const heading = (name: string) => tab.page.getByRole("heading", { name, level: 1 })
  const rows = (table: string) =>
    tab.page.getByRole("table", { name: table, exact: true }).getByRole("row").filter({ has: tab.page.getByRole("rowheader") })
  const field = (label: string) => tab.page.getByLabel(label, { exact: true })

  const api = async (target: string): Promise<any> => await (await fetch(`${origin}${target}`)).json()

  /** The book as the page shows it at one moment: the record that it is of, and prices and sizes, best first. */
  const shown = async (): Promise<{ readonly sequence: number; readonly book: Levels }> =>
    tab.page.evaluate(`({
      sequence: Number(document.querySelector(".book [role=table]").dataset.sequence),
      book: Object.fromEntries(["bids", "asks"].map((side) => {
        const rows = [...document.querySelectorAll("." + side + " .level")].map((row) => [".price", ".size"].map((part) =>
          row.querySelector(part).lastChild.textContent.replaceAll(",", "")))
        return [side, (side === "asks" ? rows.reverse() : rows).filter(([price]) => price !== "\u2013")]
      }))
    })`)

  /** Waits until the page shows the book that the API tells, which is one of both sides. */
  const isBook = async (): Promise<void> => {
    const told = levels(await api(`/v1/markets/${marketId}/book`))
    expect(Math.min(told.bids.length, told.asks.length)).toBeGreaterThan(0)
    await expect.poll(async () => (await shown()).book, { timeout: 15_000 }).toEqual(told)
  }

  /** A price so many percent from the index, on the grid. */
  const priceAt = async (percent: number): Promise<string> => {
    const { marketData } = await api(`/v1/markets/${marketId}/stats`)
    return `${Math.round(Number(marketData.indexPrice) * (1 + percent / 100))}.0`
  }

  const rest = async (makerSide: "buy" | "sell", price: string, quantity: string): Promise<void> => {
    const outcome = await maker.place({ marketId, side: makerSide, orderType: "limit", price, quantity })
    expect(outcome.kind, JSON.stringify(outcome)).toBe("accepted")
  }

  test("markets are listed with their figures, and lead to their pages", async () => {
    await rest("buy", await priceAt(-1), "0.500")
    await rest("buy", await priceAt(-2), "0.250")
    await rest("sell", await priceAt(1), "0.500")
    await tab.page.goto(origin)
    await button("Create an account").click()
    await heading("Portfolio").waitFor()
    const accountId = await tab.page.locator(".account").getAttribute("title")
    const credited = await fetch(`${origin}/v1/operator/demo/credits`, {
      method: "POST",
      headers: { authorization: `Bearer ${operatorToken()}`, "content-type": "application/json", "idempotency-key": "market-page" },
      body: JSON.stringify({ accountId, amount: "10000" })
    })
    expect(credited.status).toBe(200)
    await tab.page.getByRole("link", { name: "Markets", exact: true }).click()
    await rows("Markets").filter({ hasText: marketId }).filter({ hasText: "Open" }).waitFor()
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
    await tab.page.getByRole("link", { name: marketId }).click()
    await heading(marketId).waitFor()
    await tab.page.getByText("Live", { exact: true }).waitFor()
    await isBook()
    await tab.page.locator(".canvas canvas").first().waitFor()
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
  })

  test("what is no order is told where it is entered, with the nearest value that is one", async () => {
    await field("Price").fill("60000.07")
    await field("Size").fill("200")
    await tab.page.getByRole("alert").filter({ hasText: "goes in steps of 0.1" }).waitFor()
    await button("Use 60,000.1").click()
    expect(await field("Price").inputValue()).toBe("60000.1")
    await tab.page.getByRole("alert").filter({ hasText: "The size is at most 100.000 here." }).waitFor()
    await button("Use 100.000").click()
    expect(await field("Size").inputValue()).toBe("100.000")
  })

  test("a refusal is told in the venue's own words before and after it, with a nearest value that is taken", async () => {
    const note = tab.page.getByRole("note")
    const nearestOf = async (what: string): Promise<string> => {
      const words = await note.filter({ hasText: `Nearest ${what} that would be taken` }).textContent()
      return /would be taken: ([0-9.,]+)/.exec(words!)![1]!
    }
    await field("Price").fill(await priceAt(-1))
    await note.filter({ hasText: "Would be refused: The account's margin does not cover this order." }).waitFor()
    const size = await nearestOf("size")
    await button(`Use ${size}`).click()
    expect(await field("Size").inputValue()).toBe(size)

    await field("Size").fill("0.01")
    await field("Price").fill(await priceAt(3))
    await field("Post only").check()
    await note.filter({ hasText: "Would be refused: A post-only order would have traded at once." }).waitFor()
    await button(`Buy ${marketId}`).click()
    const refused = tab.page.getByRole("alert").filter({ hasText: "A post-only order would have traded at once." })
    await refused.waitFor()
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
    const price = await nearestOf("price")
    await button(`Use ${price}`).first().click()
    expect(await field("Price").inputValue()).toBe(price.replaceAll(",", ""))
    await tab.page.getByText("Would trade nothing at once.").waitFor()
    await refused.waitFor({ state: "detached" })
    await field("Post only").uncheck()
  })

  test("an order rests, is in the book and among the open orders, and is taken back", async () => {
    const price = await priceAt(-3)
    await field("Price").fill(price)
    await field("Size").fill("0.02")
    await tab.page.getByText("Would trade nothing at once. 0.020 would rest in the book.").waitFor()
    await tab.page.getByRole("table", { name: "What the order would come to" }).getByText("Liquidation price").waitFor()
    await field("Size").press("Enter")
    await tab.page.getByRole("status").filter({ hasText: "0.020 rests in the book" }).waitFor()
    const shownPrice = Number(price).toLocaleString("en", { minimumFractionDigits: 1 })
    await rows("Open orders").filter({ hasText: shownPrice }).waitFor()
    await tab.page.locator(".level.own").filter({ hasText: shownPrice }).waitFor()
    await isBook()
    await button(`Cancel: buy 0.020 at ${shownPrice}`).click()
    await tab.page.getByText("No open order here.").waitFor()
    await isBook()
  })

  test("a market order opens a position, which has a liquidation price, exits that are set and removed, and an end", async () => {
    await tab.page.getByRole("group", { name: "Type" }).getByText("Market", { exact: true }).click()
    await field("Size").fill("0.3")
    await tab.page.getByText("Would buy 0.300 at once").waitFor()
    // The narrowest column of the widest layout holds what the order would come to.
    expect(await tab.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")).toBeLessThanOrEqual(0)
    await button(`Buy ${marketId}`).click()
    await tab.page.getByRole("status").filter({ hasText: "Bought 0.300 at" }).waitFor()
    const position = rows("Positions").filter({ hasText: "Long" })
    await position.waitFor()
    expect(await position.locator("[data-title=Liquidation]").textContent()).toMatch(/^[0-9]{2},[0-9]{3}\.[0-9]$/)
    await rows("Fills").filter({ hasText: "0.300" }).waitFor()

    await button(`Exits of long 0.300 ${marketId}`).click()
    const dialog = tab.page.getByRole("dialog", { name: "Take profit and stop loss" })
    await dialog.getByLabel("Take profit at").fill("much")
    await dialog.getByRole("button", { name: "Set" }).click()
    await dialog.getByRole("alert").filter({ hasText: "This is no take-profit" }).waitFor()
    await dialog.getByLabel("Take profit at").fill(await priceAt(10))
    await dialog.getByLabel("Stop loss at").fill(await priceAt(-10))
    await dialog.getByRole("button", { name: "Set" }).click()
    await dialog.waitFor({ state: "detached" })
    await position.filter({ hasText: "profit at" }).filter({ hasText: "loss at" }).waitFor()

    await button(`Exits of long 0.300 ${marketId}`).click()
    await dialog.getByLabel("Take profit at").fill("")
    await dialog.getByLabel("Stop loss at").fill("")
    await dialog.getByRole("button", { name: "Remove both" }).click()
    await dialog.waitFor({ state: "detached" })
    await position.filter({ hasNotText: "profit at" }).waitFor()

    await button(`Close long 0.300 ${marketId}`).click()
    await tab.page.getByRole("dialog").getByRole("button", { name: "Close it" }).click()
    await tab.page.getByText("No open position.").waitFor()
    await tab.page.getByRole("group", { name: "Which history" }).getByText("Positions", { exact: true }).click()
    await rows("Position history").filter({ hasText: "Closed: User close" }).waitFor()
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
  })

  test("an answer that is lost is found out about: the order is there once", async () => {
    await tab.page.getByRole("group", { name: "Type" }).getByText("Limit", { exact: true }).click()
    // By keyboard, as a group of radio buttons is used.
    await tab.page.getByRole("radio", { name: "Buy", exact: true }).focus()
    await tab.page.keyboard.press("ArrowRight")
    await field("Price").fill(await priceAt(4))
    await field("Size").fill("0.011")
    const keys: Array<string | undefined> = []
    await tab.page.route("**/v1/orders", async (route) => {
      keys.push(route.request().headers()["idempotency-key"])
      if (keys.length === 1) await route.fetch()
      return keys.length === 1 ? route.abort() : route.continue()
    })
    await button(`Sell ${marketId}`).click()
    await tab.page.getByRole("status").filter({ hasText: "0.011 rests in the book" }).waitFor()
    await tab.page.unroute("**/v1/orders")
    expect(keys).toEqual([keys[0], keys[0]])
    await rows("Open orders").filter({ hasText: "0.011" }).waitFor()
    expect(await rows("Open orders").count()).toBe(1)
    await button("Cancel all in this market").click()
    await tab.page.getByRole("dialog").getByRole("button", { name: "Cancel them" }).click()
    await tab.page.getByText("No open order here.").waitFor()
  })

  test("on the tape, what is typed stays while the book changes between any two keys, and the book is the venue's", async () => {
    const files = recorded.every((file) => fs.existsSync(file))
      ? recorded
      : (({ perpetual, spot }) => [perpetual, spot])(Synthetic.captures(1, 300))
    let isOver = false
    const playing = Run.run({
      url: new URL(origin),
      operatorToken: operatorToken(),
      files,
      marketId: tapeMarketId,
      leverage: undefined,
      takers: 3,
      speed: 10,
      limitSeconds: 25,
      inFlight: 16,
      alone: false,
      observe: () => {}
    }).finally(() => {
      isOver = true
    })
    await expect.poll(async () => (await api(`/v1/markets/${tapeMarketId}/book`)).bids?.length ?? 0, { timeout: 15_000 }).toBeGreaterThan(0)
    const books = new Map<number, Levels>()
    const copy = new LocalBook()
    const taken = (sequence: number): void => void books.set(sequence, levels(copy))
    maker.follow({ channel: "market.book", marketId: tapeMarketId }, {
      snapshot: ({ data, sequence }) => {
        copy.reset(data, sequence)
        taken(sequence)
      },
      update: ({ data, sequence }) => {
        copy.apply(data, sequence)
        taken(sequence)
      },
      ended: () => {}
    })
    await tab.page.goto(`${origin}/#/market/${tapeMarketId}`)
    await heading(tapeMarketId).waitFor()
    await tab.page.locator(".bids .level").first().filter({ hasText: /[0-9]/ }).waitFor()
    await tab.page.evaluate(`{
      const table = document.querySelector(".book [role=table]")
      globalThis.seen = { shown: 0, frames: 0, most: 0, inFrame: 0 }
      new MutationObserver(() => { seen.shown++; seen.most = Math.max(seen.most, ++seen.inFrame) })
        .observe(table, { attributes: true, attributeFilter: ["data-sequence"] })
      const frame = () => { seen.frames++; seen.inFrame = 0; requestAnimationFrame(frame) }
      requestAnimationFrame(frame)
    }`)
    const text = "12345.678901234567890"
    const samples = [await shown()]
    await field("Size").focus()
    for (const key of text) {
      await tab.page.keyboard.press(key)
      // The next key comes when the book is another.
      let sample = await shown()
      while (!isOver && sample.sequence === samples.at(-1)!.sequence) sample = await shown()
      samples.push(sample)
    }
    expect(await field("Size").inputValue()).toBe(text)
    // Each book that was seen is the venue's of that record; one that has put several together may name another.
    const known = samples.filter(({ sequence }) => books.has(sequence))
    expect(known.length).toBeGreaterThan(5)
    expect(known.map(({ book }) => book)).toEqual(known.map(({ sequence }) => books.get(sequence)))
    const seen = await tab.page.evaluate("seen") as { readonly shown: number; readonly most: number }
    expect(seen.shown).toBeGreaterThan(5)
    // Many updates a frame are painted as one; a frame's observers may be told of the next one's beside it.
    expect(seen.most).toBeLessThanOrEqual(2)
    await playing
    expect(await tab.page.locator(".trades .trade").count()).toBeLessThanOrEqual(41)
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
  })

  test("a stream that is lost is told of, with since when, and goes on by itself", async () => {
    const lines: Array<WebSocketRoute> = []
    let isLost = false
    await tab.page.routeWebSocket("**/streams/v1/ws", async (line) => {
      if (isLost) return await line.close()
      lines.push(line)
      line.connectToServer()
    })
    await tab.page.goto(`${origin}/#/market/${marketId}`)
    await tab.page.reload()
    await isBook()
    isLost = true
    await Promise.all(lines.map((line) => line.close({ code: 1012 })))
    await tab.page.getByRole("status").filter({ hasText: "Reconnecting since" }).waitFor()
    await tab.page.getByText("As it was last.").waitFor()
    isLost = false
    await tab.page.getByText("Live", { exact: true }).waitFor()
    await isBook()
  })

  test("a market that is none is told of", async () => {
    await tab.page.goto(`${origin}/#/market/NONE-USDC-PERP`)
    await tab.page.getByRole("alert").filter({ hasText: "There is no such market." }).waitFor()
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
  })

  test("the leaderboard is shown, in the dark as in the light", async () => {
    await tab.page.emulateMedia({ colorScheme: "dark" })
    await tab.page.getByRole("link", { name: "Leaderboard", exact: true }).click()
    await heading("Leaderboard").waitFor()
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
  })

  test("nothing was thrown, or refused by the policy", () => {
    const expected = /Failed to load resource|WebSocket connection to|net::ERR_/
    expect(tab.complaints.filter((complaint) => !expected.test(complaint))).toEqual([])
  })
})
