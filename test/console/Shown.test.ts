/** Which figure stands under which title: a figure under another's title looks as right as the right one. */
import * as esbuild from "esbuild"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, expect, test } from "vitest"
import { ofBalance } from "../../src/console/parts/BalanceFigures.js"
import { kinds } from "../../src/console/parts/EventKinds.js"
import type * as Contract from "../../src/console/state/Contract.js"

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "venue-shown-"))
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

interface Column {
  readonly title: string
  readonly cell: (row: object) => unknown
}

interface Parts {
  readonly ofMarket: ReadonlyArray<Column>
  readonly ofPosition: ReadonlyArray<Column>
  readonly Figures: (props: object) => unknown
}

/** What is shown as the pages are built, from their own files: they need no document as long as nobody paints them. */
const parts = async (): Promise<Parts> => {
  const outfile = path.join(folder, "parts.mjs")
  await esbuild.build({
    stdin: {
      contents: `export { ofMarket } from "./parts/MarketColumns.js"
        export { ofPosition } from "./parts/PositionColumns.js"
        export { Figures } from "./parts/market/Figures.js"`,
      resolveDir: "src/console",
      loader: "ts"
    },
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    outfile,
    jsx: "automatic",
    jsxImportSource: "preact",
    tsconfig: "src/console/tsconfig.json",
    logLevel: "silent"
  })
  return await import(pathToFileURL(outfile).href) as Parts
}

const { Figures, ofMarket, ofPosition } = await parts()

interface Node {
  readonly type: string | ((props: object) => unknown)
  readonly props: { readonly children?: unknown }
}

/** The text of what is shown. */
const textOf = (shown: unknown): string => {
  if (typeof shown === "string" || typeof shown === "number") return String(shown)
  if (Array.isArray(shown)) return shown.map(textOf).join("")
  if (typeof shown !== "object" || shown === null) return ""
  const { props, type } = shown as Node
  return textOf(typeof type === "function" ? type(props) : props.children)
}

/** The elements of a kind in what is shown, in order. */
const elements = (shown: unknown, kind: string): ReadonlyArray<string> => {
  if (Array.isArray(shown)) return shown.flatMap((each) => elements(each, kind))
  if (typeof shown !== "object" || shown === null) return []
  const { props, type } = shown as Node
  return type === kind ? [textOf(shown)] : elements(props.children, kind)
}

const row = (columns: ReadonlyArray<Column>, of: object): Readonly<Record<string, string>> =>
  Object.fromEntries(columns.map(({ cell, title }) => [title, textOf(cell(of))]))

const stats = {
  marketData: { markPrice: "101.0", indexPrice: "102.0", stale: false },
  lastPrice: "103.0",
  change24hBps: "150",
  volume24hQuote: "104.000000",
  predictedFundingRateE9: "50000",
  fundingRateBasisMs: 28_800_000,
  fundingIntervalMs: 3_600_000,
  nextFundingTimeEpochMs: 0
}

test("a balance has each of its amounts under its own name", () => {
  const balance = {
    equity: "1.000000",
    available: "2.000000",
    unrealizedPnl: "3.000000",
    withdrawable: "4.000000",
    initialMargin: "5.000000",
    maintenanceMargin: "6.000000"
  }
  expect(Object.fromEntries(ofBalance(balance as Contract.Balance).map(({ amount, title }) => [title, amount]))).toEqual({
    Equity: "1.000000",
    Available: "2.000000",
    Unrealised: "3.000000",
    Withdrawable: "4.000000",
    "Initial margin": "5.000000",
    "Maintenance margin": "6.000000"
  })
})

test("a position has each of its figures under its own title", () => {
  const position: Partial<Contract.Position> = {
    side: "long",
    quantity: "1.000",
    avgEntryPrice: "2.0",
    markPrice: "3.0",
    liquidationPrice: "4.0",
    initialMargin: "5.000000",
    maintenanceMargin: "6.000000",
    unrealizedPnl: "7.000000"
  }
  expect(row(ofPosition, position)).toEqual({
    Side: "Long",
    Size: "1.000",
    Entry: "2.0",
    Mark: "3.0",
    Liquidation: "4.0",
    Margin: "5.00",
    Unrealised: "7.00"
  })
  expect(row(ofPosition, { ...position, liquidationPrice: null })).toMatchObject({ Liquidation: "none" })
})

/** Of 150 basis points, and of 0.00005 an hour. */
const figures = { "24 hours": "1.50\u00a0%", "Volume, 24 h": "104.00", "Funding, 8 h": "0.0400\u00a0%" }

const marketSession = { state: "open", nextCloseEpochMs: 0, nextOpenEpochMs: 0 }
const market = { marketId: "BTC-USDC-PERP", status: "open", marketSession, market: { marketSession } }

test("a market in the list has each of its figures under its own title, in percent as the venue says it in basis points", () => {
  const Market = "BTC-USDC-PERP"
  const Status = "Open"
  expect(row(ofMarket, { market, stats })).toEqual({ Market, Mark: "101.0", ...figures, Status })
  expect(row(ofMarket, { market, stats: undefined })).toEqual({
    Market,
    Mark: "–",
    "24 hours": "–",
    "Volume, 24 h": "–",
    "Funding, 8 h": "–",
    Status
  })
})

test("a market at a glance has each of its figures under its own name, and no price where nobody has traded", () => {
  const glance = (told: object | undefined) => {
    const shown = Figures({ feed: { stats: { value: told } }, market })
    const names = elements(shown, "dt")
    return Object.fromEntries(elements(shown, "dd").map((text, at) => [names[at]!, text.trim()]))
  }
  expect(glance(stats)).toEqual({ Mark: "101.0", Index: "102.0", Last: "103.0", ...figures, Status: "Open" })
  expect(Object.values(glance(undefined)).slice(0, -1)).toEqual(["–", "–", "–", "–", "–", "–"])
  expect(glance({ ...stats, lastPrice: "0.0" })["Last"]).toBe("–")
})

test("a security event is told in its own words", () => {
  expect(kinds).toEqual({
    account_opened: "Account opened",
    signed_in: "Signed in",
    sign_in_failed: "Sign-in failed",
    signed_out: "Signed out",
    signed_out_elsewhere: "Signed out everywhere else",
    session_ended: "Session ended",
    passkey_added: "Passkey added",
    passkey_removed: "Passkey removed",
    agent_approved: "Agent approved",
    agent_denied: "Agent denied",
    key_issued: "API key issued",
    key_revoked: "API key revoked",
    key_used_from_new_address: "API key used from a new address",
    ticket_family_ended: "Realtime tickets ended: one was presented twice",
    withdrawal_requested: "Withdrawal asked for",
    party_change_requested: "Change of ledger party asked for",
    ledger_step_approved: "Ledger transaction approved",
    approval_failed: "Approval failed",
    ledger_party_changed: "Ledger party changed",
    operator_set_flags: "Account’s flags changed by the operator",
    operator_credited: "Account credited by the operator",
    operator_canceled_orders: "Orders cancelled by the operator",
    operator_revoked_key: "API key revoked by the operator",
    user_codes_locked: "Too many wrong agents’ codes: locked for a minute"
  })
})
