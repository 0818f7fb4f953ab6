/**
 * The market's page in a real browser against the real venue: a live book that changes many times a frame, and an owner's orders from
 * preview to end. Without a Chromium these tests are skipped, and reported by name; so is the one with the recorded tape if that is neither
 * beside this working copy nor in `RECORDINGS`. The busy book of the other one is artificial.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import type { Browser, WebSocketRoute } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import * as Run from "../../scripts/tape/Run.js"
import { type Client, connect } from "../../src/client/venue/node.js"
import { decimal, money, words } from "../../src/console/state/Words.js"
import * as Chromium from "./Chromium.js"
import { Tab } from "./Chromium.js"
import { freePort } from "./FreePort.js"
import { booksOf, levels, reading, Recorder, type Sample, type Seen } from "./Recorder.js"

const folderOfRecordings = process.env["RECORDINGS"] ?? fileURLToPath(new URL("../../../../shared/data", import.meta.url))
const recordings = ["usdm_btcusdt_20240808.gz", "spot_btcusdt_20240808.gz"].map((name) => path.join(folderOfRecordings, name))
const isRecorded = recordings.every((file) => fs.existsSync(file))

/** A row of an API answer. */
type Told = Readonly<Record<string, string>>

const marketId = "BTC-USDC-PERP"
const tapeMarketId = "TAPEBTC-USDC-PERP"
/** For waiting through some fifty frames, of which a slow machine paints few per second. */
const slow = { timeout: 120_000 }

/** A time limit that only ends what hangs. */
const patience = { timeout: 120_000 }

const landmarks = ["banner", "navigation", "main", "contentinfo"]

describe.skipIf(Chromium.executable === undefined)("a market in Chromium", () => {
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
  })

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

  const shown = async (): Promise<Sample> => tab.page.evaluate(`(${reading})()`)

  /** Waits until the page shows the book that the API returns, which has both sides. */
  const isBook = async (): Promise<void> => {
    const told = levels(await api(`/v1/markets/${marketId}/book`))
    expect(Math.min(told.bids.length, told.asks.length)).toBeGreaterThan(0)
    await expect.poll(async () => (await shown()).book, patience).toEqual(told)
  }

  /** Reads the account whose pages these are from the API. */
  const own = async (target: string): Promise<any> => {
    const { accessToken, accountId } = JSON.parse(await tab.page.evaluate("sessionStorage.getItem('perpetuum.session')"))
    const headers = { authorization: `Bearer ${accessToken}` }
    return await (await fetch(`${origin}/v1/accounts/${accountId}${target}`, { headers })).json()
  }

  /** The cells of a table under some of its headings, row by row. */
  const cells = async (table: string, titles: ReadonlyArray<string>): Promise<ReadonlyArray<ReadonlyArray<string | null>>> =>
    await Promise.all(
      (await rows(table).all()).map((row) => Promise.all(titles.map((title) => row.locator(`[data-title="${title}"]`).textContent())))
    )

  /** Waits until the page lists the trades that the API returns, newest first. */
  const areTrades = async (market: string): Promise<void> => {
    const { trades } = await api(`/v1/markets/${market}/trades?limit=40`)
    expect(trades.length).toBeGreaterThan(0)
    const told = trades.map(({ price, size, takerSide }: Told) => [takerSide, decimal(price!), decimal(size!)])
    await expect.poll(() =>
      tab.page.evaluate(`[...document.querySelectorAll(".trades .trade:not(.titles)")].map((row) => {
        const [, verb, price] = /(bought|sold) at +([0-9.,]+)/.exec(row.querySelector("[role=rowheader]").textContent)
        return [verb === "bought" ? "buy" : "sell", price, row.querySelector("[role=cell]").textContent]
      })`), patience).toEqual(told)
  }

  /** Waits until the chart's figures are those of the last candle that the API returns. */
  const isCandle = async (series: string, members: ReadonlyArray<"open" | "high" | "low" | "close">): Promise<void> => {
    await expect.poll(async () => {
      const { candles } = await api(`/v1/markets/${marketId}/candles?timeframe=1m&series=${series}`)
      const figures = await tab.page.locator(".figure-line").textContent({ timeout: 1_000 }).catch(() => null)
      return candles.length > 0 && members.every((member) => figures?.includes(`${words(member)} ${decimal(candles.at(-1)[member])}`))
    }, patience).toBe(true)
  }

  /** Records text drawn on canvases from now on: a chart's texts are in no element. */
  const noteWritten = async (): Promise<void> =>
    await tab.page.evaluate(`{
      globalThis.written ??= new Set()
      const pen = CanvasRenderingContext2D.prototype
      const { fillText } = pen
      pen.fillText = function(text, ...where) {
        written.add(text)
        return fillText.call(this, text, ...where)
      }
    }`)

  /** The texts of the chart when it is drawn again, as after a change of the page's width: at least its scales. */
  const written = async (): Promise<ReadonlyArray<string>> => {
    await tab.page.evaluate("written.clear()")
    const { height, width } = tab.page.viewportSize()!
    await tab.page.setViewportSize({ width: width === 360 ? 380 : 360, height })
    return await tab.page.evaluate(`new Promise((done) => {
      const look = () => written.size === 0 ? requestAnimationFrame(look) : requestAnimationFrame(() => done([...written]))
      look()
    })`)
  }

  /** How much of the chart has the colours of rising and falling candles. */
  const coloured = async (): Promise<number> =>
    await tab.page.evaluate(`(() => {
      const copy = document.createElement("canvas")
      const pen = copy.getContext("2d", { willReadFrequently: true })
      const pixels = (width, height) => new Uint32Array(pen.getImageData(0, 0, width, height).data.buffer)
      const colours = ["--up", "--down"].map((name) => {
        pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim()
        pen.fillRect(0, 0, 1, 1)
        return pixels(1, 1)[0]
      })
      let count = 0
      for (const canvas of document.querySelectorAll(".canvas canvas")) {
        const { height, width } = canvas
        if (width === 0 || height === 0) continue
        Object.assign(copy, { height, width })
        pen.drawImage(canvas, 0, 0)
        count += pixels(width, height).filter((pixel) => colours.includes(pixel)).length
      }
      return count
    })()`)

  /** A price `percent` away from the index, on the grid. */
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
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
  })

  test("the chart has candles of trades, of which there are none yet, or of the index", async () => {
    await tab.page.locator(".canvas canvas").first().waitFor()
    await tab.page.locator(".chart").getByText("Nothing yet.").waitFor()
    await expect.poll(coloured, patience).toBe(0)
    const series = tab.page.getByRole("group", { name: "Candles of" })
    await series.getByText("Index", { exact: true }).click()
    // The index changes meanwhile; the candle's opening price stays.
    await isCandle("index", ["open"])
    // There are no orders and no trades: only candles are drawn in these colours.
    await expect.poll(coloured, patience).toBeGreaterThan(0)
    await series.getByText("Trades", { exact: true }).click()
    await tab.page.locator(".chart").getByText("Nothing yet.").waitFor()
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
    // The narrowest column of the widest layout has room for the order's preview.
    expect(await tab.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")).toBeLessThanOrEqual(0)
    await button(`Buy ${marketId}`).click()
    await tab.page.getByRole("status").filter({ hasText: "Bought 0.300 at" }).waitFor()
    const position = rows("Positions").filter({ hasText: "Long" })
    await position.waitFor()
    const { positions: [held] } = await own("/positions")
    expect(await cells("Positions", ["Side", "Size", "Entry", "Liquidation"]))
      .toEqual([["Long", "0.300", decimal(held.avgEntryPrice), decimal(held.liquidationPrice)]])
    await rows("Fills").filter({ hasText: "0.300" }).waitFor()
    await areTrades(marketId)
    await isCandle("trade", ["open", "high", "low", "close"])
    await noteWritten()
    await expect.poll(written, patience).toEqual(expect.arrayContaining(["Long 0.300", "Buy 0.300"]))

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
    await areTrades(marketId)
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
  })

  test("fills and resting orders are on the chart, and what is no more is gone from it", async () => {
    await expect.poll(written, patience).toEqual(expect.arrayContaining(["Buy 0.300", "Sell 0.300"]))
    await expect.poll(written, patience).not.toContain("Long 0.300")
    await tab.page.getByRole("group", { name: "Type" }).getByText("Limit", { exact: true }).click()
    await field("Price").fill(await priceAt(0))
    await field("Size").fill("0.02")
    await button(`Buy ${marketId}`).click()
    await rows("Open orders").filter({ hasText: "0.020" }).waitFor()
    await expect.poll(written, patience).toContain("Buy 0.020")
    await rows("Open orders").getByRole("button", { name: /^Cancel: buy 0.020/ }).click()
    await tab.page.getByText("No open order here.").waitFor()
    await expect.poll(written, patience).not.toContain("Buy 0.020")
  })

  test("histories are what the venue tells of the account in the market", async () => {
    const kind = (name: string) => tab.page.getByRole("group", { name: "Which history" }).getByText(name, { exact: true })
    const { fills } = await own(`/fills?marketId=${marketId}`)
    await kind("Fills").click()
    await rows("Fills").first().waitFor()
    expect(await cells("Fills", ["Side", "Price", "Size", "Fee", "As"])).toEqual(
      fills.map((
        { fee, liquidity, price, side, size }: Told
      ) => [words(side!), decimal(price!), decimal(size!), money(fee!), words(liquidity!)])
    )
    const { episodes } = await own(`/positions/history?marketId=${marketId}`)
    await kind("Positions").click()
    await rows("Position history").first().waitFor()
    expect(await cells("Position history", ["Entry", "Exit", "Realised"])).toEqual(
      episodes.map((
        { avgEntryPrice, avgExitPrice, realizedPnl }: Told
      ) => [decimal(avgEntryPrice!), decimal(avgExitPrice!), money(realizedPnl!)])
    )
    const { entries } = await own(`/ledger?marketId=${marketId}`)
    expect(entries.length).toBeGreaterThan(0)
    await kind("Ledger").click()
    await rows("Ledger").first().waitFor()
    expect(await cells("Ledger", ["Cause", "Amount", "Balance"])).toEqual(
      entries.map(({ amount, balance, cause }: Told) => [words(cause!), money(amount!), money(balance!)])
    )
    // There is a payment only if the position was held at a full hour.
    const { payments } = await own("/funding-payments?limit=50")
    await kind("Funding").click()
    await (payments.length === 0 ? tab.page.getByText("No funding paid or received yet.") : rows("Funding payments").first()).waitFor()
    expect(await cells("Funding payments", ["Paid"])).toEqual(payments.map(({ paid }: Told) => [money(paid!)]))
  })

  test("an answer that is lost is found out about: the order is there once", async () => {
    await tab.page.getByRole("group", { name: "Type" }).getByText("Limit", { exact: true }).click()
    // By keyboard, in the way a group of radio buttons is used.
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

  /** Opens a market's page from another market's, so that nothing is loaded anew, and records it from its first frame on. */
  const recorded = async (market: string): Promise<Recorder> => {
    await tab.page.goto(`${origin}/#/markets`)
    await heading("Markets").waitFor()
    const recorder = await Recorder.begin(tab.page, market)
    await tab.page.evaluate(`location.hash = "#/market/${market}"`)
    await heading(market).waitFor()
    await tab.page.locator(".bids .level").first().filter({ hasText: /[0-9]/ }).waitFor()
    return recorder
  }

  /**
   * Types an order key by key while its preview is shown: each key after the page has shown another book once or twice since, every third
   * at once, as fast typists press two keys within a frame. Returns what the fields held after each key.
   */
  const typed = async (recorder: Recorder, price: string) => {
    const expected: Array<{ readonly field: string; readonly value: string; readonly isPreviewed: boolean }> = []
    const pressed: Array<string> = []
    const type = async (what: "price" | "quantity", keys: ReadonlyArray<string>, values: ReadonlyArray<string>, isPreviewed: boolean) => {
      const entry = field(what === "price" ? "Price" : "Size")
      await entry.focus()
      for (const key of keys) {
        await tab.page.keyboard.press(key)
        if (pressed.push(key) % 3 !== 0) await recorder.shownAnew(pressed.length % 3)
      }
      expect(await entry.inputValue()).toBe(values.at(-1))
      expected.push(...values.map((value) => ({ field: `order-${what}`, value, isPreviewed })))
    }
    const beginnings = (text: string): ReadonlyArray<string> => [...text].map((_, at) => text.slice(0, at + 1))
    await type("price", [...price], beginnings(price), false)
    await type("quantity", [..."0.02"], beginnings("0.02"), false)
    await tab.page.getByRole("table", { name: "What the order would come to" }).waitFor()
    await type("quantity", ["End", "5", "ArrowLeft", "Backspace", "3"], ["0.025", "0.05", "0.035"], true)
    await type("price", ["End", "Backspace", "4"], [price.slice(0, -1), `${price.slice(0, -1)}4`], true)
    await tab.page.getByText("Would trade nothing at once. 0.035 would rest in the book.").waitFor()
    return { expected, pressed }
  }

  /**
   * Every key arrived in order and stayed, and each frame with something to show showed it once, as the venue sent it. There were more than
   * `times` changes for each frame that had something to show.
   */
  const kept = async (seen: Seen, { expected, pressed }: Awaited<ReturnType<typeof typed>>, market: string, times: number) => {
    expect(seen.keys).toEqual(pressed)
    expect(seen.inputs).toEqual(expected)
    expect(seen.strays).toEqual([])
    const { frames, samples, told } = seen
    const wrong = frames.filter(({ due, shown: last, shows }, at) =>
      due > 0 ? shows !== 1 || last !== due : shows > 0 || (at > 0 && last !== frames[at - 1]!.shown)
    )
    expect(wrong).toEqual([])
    const { books, checksum, faults, last } = booksOf(told, new Set(samples.map(({ sequence }) => sequence)))
    expect(faults).toEqual([])
    expect(samples.map(({ book }) => book)).toEqual(samples.map(({ sequence }) => books.get(sequence)))
    const busy = frames.filter(({ due }) => due > 0).length
    expect(busy).toBeGreaterThan(pressed.length / 2)
    expect(told.length).toBeGreaterThan(times * busy)
    const book = await api(`/v1/markets/${market}/book`)
    expect([(await shown()).sequence, checksum]).toEqual([last, book.checksum])
    expect((await shown()).book).toEqual(levels(book))
  }

  /** Waits until the page shows the last book that it received, with nothing under way. */
  const settled = async (recorder: Recorder, market: string): Promise<Seen> => {
    const { checksum } = await api(`/v1/markets/${market}/book`)
    await expect.poll(async () => booksOf((await recorder.seen()).told, new Set()).checksum, patience).toBe(checksum)
    await recorder.painted()
    await recorder.painted()
    return await recorder.seen()
  }

  /** Places orders around a price and cancels them one by one until it is over; each round begins after a frame was painted. */
  const churn = async (client: Client, recorder: Recorder, middle: number, isOver: () => boolean): Promise<void> => {
    for (let round = 0; !isOver(); round++) {
      const placed = await Promise.all(Array.from({ length: 24 }, async (_, at) => {
        const away = 1 + (at >> 1) + round % 7
        const [side, price] = at % 2 === 0 ? ["buy", middle - away] as const : ["sell", middle + away] as const
        const quantity = `0.0${10 + (round * 13 + at * 7) % 90}`
        const outcome = await client.place({ marketId, side, orderType: "limit", price: `${price}.0`, quantity })
        if (outcome.kind !== "accepted") throw new Error(`an order was not taken: ${JSON.stringify(outcome)}`)
        return outcome.value
      }))
      await recorder.painted()
      await Promise.all(placed.map((order) => client.cancel(order)))
      await recorder.painted()
    }
  }

  test("on a busy book, each frame shows the venue's book once, and every key that is typed arrives and stays", slow, async () => {
    const recorder = await recorded(marketId)
    const [account] = await venue.demoAccounts(1)
    const client = connect({ url: origin, apiKey: account!.apiKey, accountId: account!.accountId, orders: "socket" })
    let isOver = false
    const busy = churn(client, recorder, Number(await priceAt(0)), () => isOver)
    try {
      const typing = typed(recorder, await priceAt(-4))
      // If the orders end first they have failed, and what the typing waits for would never change.
      await Promise.race([typing, busy])
      isOver = true
      await busy
      await kept(await settled(recorder, marketId), await typing, marketId, 4)
    } finally {
      isOver = true
      await busy.catch(() => {})
      await client.close()
    }
  })

  test.skipIf(!isRecorded)("on the recorded tape, which lies beside the working copy, it is the same", slow, async () => {
    const enough = new Error("what was to be typed was typed")
    let isOver = false
    const playing = Run.run({
      url: new URL(origin),
      operatorToken: operatorToken(),
      files: recordings,
      marketId: tapeMarketId,
      leverage: undefined,
      takers: 3,
      speed: 5,
      limitSeconds: Infinity,
      inFlight: 16,
      alone: false,
      observe: () => {
        if (isOver) throw enough
      }
    })
    try {
      const bids = async (): Promise<ReadonlyArray<any>> => (await api(`/v1/markets/${tapeMarketId}/book`)).bids ?? []
      await expect.poll(async () => (await bids()).length, patience).toBeGreaterThan(0)
      const recorder = await recorded(tapeMarketId)
      const typing = await typed(recorder, `${Math.round(Number((await bids())[0].price) * 0.96)}.0`)
      isOver = true
      expect((await playing).problems).toEqual([expect.stringContaining(enough.message)])
      await kept(await settled(recorder, tapeMarketId), typing, tapeMarketId, 1)
      await areTrades(tapeMarketId)
    } finally {
      isOver = true
      await playing
    }
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
    // Nothing has changed meanwhile, so only the resumed stream shows that the book is the venue's again.
    await tab.page.getByText("As it was last.").waitFor({ state: "detached" })
    await isBook()
  })

  test("a market that is none is told of", async () => {
    await tab.page.goto(`${origin}/#/market/NONE-USDC-PERP`)
    await tab.page.getByRole("alert").filter({ hasText: "There is no such market." }).waitFor()
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
  })

  test("the leaderboard is shown, in the dark as in the light", async () => {
    await tab.page.emulateMedia({ colorScheme: "dark" })
    // A board is made once a minute, too long to wait for: these are answers in the venue's form, with entries.
    const rest = { closedNotionalAtoms: "5000000", fundingPaidAtoms: "0" }
    const scores = { scoreAtoms: "1234567890", realizedPnlAtoms: "1234567891", feesPaidAtoms: "1" }
    const best = { rank: 1, displayHandle: "ann", participantKind: "human", fillCount: 7, ...scores, ...rest }
    const losses = { scoreAtoms: "-2500000", realizedPnlAtoms: "-2000000", feesPaidAtoms: "500000" }
    const last = { rank: 2, displayHandle: "bob", participantKind: "bot", fillCount: 1_200, ...losses, ...rest }
    await tab.page.route("**/v1/leaderboard?*", async (route) => {
      const board = await (await route.fetch()).json()
      await route.fulfill({ json: { ...board, entries: board.windowKind === "daily" ? [best] : [best, last] } })
    })
    await tab.page.getByRole("link", { name: "Leaderboard", exact: true }).click()
    await heading("Leaderboard").waitFor()
    const columns = ["Rank", "Score", "Realised", "Fees", "Fills"]
    const first = ["1", "1,234.56789", "1,234.567891", "0.000001", "7"]
    await rows("Leaderboard").filter({ hasText: "ann" }).waitFor()
    expect(await cells("Leaderboard", columns)).toEqual([first])
    await tab.page.getByRole("group", { name: "Over" }).getByText("Ever", { exact: true }).click()
    await rows("Leaderboard").filter({ hasText: "bob" }).filter({ hasText: "bot" }).waitFor()
    expect(await cells("Leaderboard", columns)).toEqual([first, ["2", "\u22122.50", "\u22122.00", "0.50", "1200"]])
    await tab.page.unroute("**/v1/leaderboard?*")
    await tab.page.getByText("You are listed under a name that nobody can trace to you.").waitFor()
    await tab.page.getByRole("button", { name: "Choose a name" }).click()
    const dialog = tab.page.getByRole("dialog")
    await dialog.getByLabel("Name").fill("no")
    await dialog.getByRole("button", { name: "Choose it" }).click()
    // What the venue would refuse does not leave the browser.
    expect(await dialog.isVisible()).toBe(true)
    await dialog.getByLabel("Name").fill("patient-maker")
    await dialog.getByRole("button", { name: "Choose it" }).click()
    await tab.page.getByText(/^You are listed as patient-maker\.\w+\.$/).waitFor()
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
  })

  test("nothing was thrown, or refused by the policy", () => {
    const expected = /Failed to load resource|WebSocket connection to|net::ERR_/
    expect(tab.complaints.filter((complaint) => !expected.test(complaint))).toEqual([])
  })
})
