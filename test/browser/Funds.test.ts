/**
 * A first deposit and a withdrawal in a real browser against the real venue with its development ledger, as a person makes them on a
 * telephone; between two approvals the tab is closed. Without a Chromium these tests are skipped, and reported by name.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import * as Chromium from "./Chromium.js"
import { Tab } from "./Chromium.js"
import { freePort } from "./FreePort.js"

describe.skipIf(Chromium.executable === undefined)("deposits and withdrawals in Chromium", () => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "venue-funds-page-"))
  let venue: VenueProcess
  let browser: Browser
  let tab: Tab
  let origin: string
  const complaints: Array<string> = []

  const open = async (): Promise<void> => {
    tab = await Tab.open(browser)
    // The ledger takes its time, and the page polls every few seconds.
    tab.page.setDefaultTimeout(30_000)
  }

  beforeAll(async () => {
    if (Chromium.executable === undefined) return
    const port = await freePort()
    origin = `http://localhost:${port}`
    const starting = VenueProcess.start(dataDir, { PORT: String(port) })
    browser = await Chromium.launch(Chromium.executable)
    await open()
    venue = await starting
  })

  afterAll(async () => {
    await browser?.close()
    await venue?.kill()
    fs.rmSync(dataDir, { recursive: true, force: true })
  })

  const landmarks = ["banner", "navigation", "main", "contentinfo"]
  const button = (name: string | RegExp) => tab.page.getByRole("button", { name, exact: typeof name === "string" })
  const link = (name: string) => tab.page.getByRole("link", { name, exact: true })
  const heading = (name: string) => tab.page.getByRole("heading", { name, level: 1 })
  const region = (name: string) => tab.page.getByRole("region", { name, exact: true })
  const rows = (table: string) =>
    tab.page.getByRole("table", { name: table, exact: true }).getByRole("row").filter({ has: tab.page.getByRole("rowheader") })
  const said = (text: string) => tab.page.getByText(text).first().waitFor()
  const atHand = () => tab.page.locator("li[aria-current=step]")

  const accountId = () => tab.page.locator(".account").getAttribute("title")

  test("the page is empty for a new account, and takes no amount that is none", async () => {
    await tab.page.goto(origin)
    await button("Create an account").click()
    await heading("Portfolio").waitFor()
    await link("Funds").click()
    await heading("Deposit and withdraw").waitFor()
    await said("None yet: your first deposit brings one.")
    await said("No deposit yet.")
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
    await tab.page.getByLabel("Amount, USDC").first().fill("1,000")
    await button("Begin a deposit").click()
    await tab.page.getByRole("alert").filter({ hasText: "This is no amount" }).waitFor()
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
  })

  test("a deposit is begun by keyboard, and says what its first approval does", async () => {
    await tab.page.getByLabel("Amount, USDC").first().fill("25")
    await tab.page.keyboard.press("Enter")
    await tab.page.getByRole("article", { name: "Deposit of 25.00 USDC" }).waitFor()
    expect(await atHand().textContent()).toContain("Your party on the ledger opens its account with this venue. No money moves.")
    await button("Copy the party’s id").waitFor()
    expect(await tab.page.locator("pre").textContent()).toContain(`"accountId":"${await accountId()}"`)
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
    // The focus moves with the progress: the heading, then cancelling, then the approval.
    const focused = () => tab.page.evaluate("document.activeElement.textContent")
    await expect.poll(focused).toBe("Deposit of 25.00 USDC")
    await tab.page.keyboard.press("Tab")
    await tab.page.keyboard.press("Tab")
    expect(await focused()).toBe("Approve: open the account at the ledger")
    await tab.page.keyboard.press("Enter")
    await button("Approve: have the venue make its offer").waitFor()
  })

  test("a tab that is closed loses nothing: signed in again, the deposit is where it was", async () => {
    const held = await tab.held()
    complaints.push(...tab.complaints)
    await tab.page.context().close()
    await open()
    await tab.hold(held[0]!)
    await tab.page.goto(`${origin}/#/funds`)
    await button("Sign in with a passkey").click()
    await heading("Deposit and withdraw").waitFor()
    await button("Approve: have the venue make its offer").waitFor()
    expect(await atHand().textContent()).toContain("offers to take 25.00 USDC into custody")
  })

  test("a prompt that is closed approves nothing; tried again it does", async () => {
    await tab.confirms(false)
    await button("Approve: have the venue make its offer").click()
    await tab.page.getByRole("alert").filter({ hasText: "Nothing was done" }).waitFor()
    await tab.confirms(true)
    await button("Approve: have the venue make its offer").click()
    await button("Approve: accept the offer").waitFor()
  })

  test("a party that has nothing is told so; with test USDC the deposit comes to its end", async () => {
    expect(await atHand().textContent()).toContain("25.00 USDC move from your party to the venue")
    await button("Approve: accept the offer").click()
    await tab.page.getByRole("alert").filter({ hasText: "may not hold enough" }).waitFor()
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
    const given = await fetch(`${origin}/v1/operator/demo/ledger-funds`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${fs.readFileSync(path.join(dataDir, "operator-token"), "utf8").trim()}`,
        "content-type": "application/json"
      },
      body: JSON.stringify({ accountId: await accountId(), amount: "1000" })
    })
    expect(given.status).toBe(200)
    await button("Approve: accept the offer").click()
    await said("Done. 25.00 USDC were credited to your account.")
    await rows("Deposits").filter({ hasText: "25.00" }).filter({ hasText: "Done" }).waitFor()
    await region("Withdraw").getByText("25.00 USDC").first().waitFor()
    expect(await button("Begin a deposit").isVisible()).toBe(true)
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
  })

  const withdraw = async (amount: string): Promise<void> => {
    await region("Withdraw").getByLabel("Amount, USDC").fill(amount)
    await button("Use my own party").click()
    await button("Begin a withdrawal").click()
  }

  test("a withdrawal of more than there is is refused in the venue's words", async () => {
    await withdraw("25.000001")
    await tab.page.getByRole("alert").filter({ hasText: "The account has not so much that it could withdraw." }).waitFor()
  })

  test("a withdrawal holds its amount, and gives it back where it is given up", async () => {
    await withdraw("10")
    await tab.page.getByRole("article", { name: "Withdrawal of 10.00 USDC" }).waitFor()
    await region("Withdraw").getByText("15.00 USDC").first().waitFor()
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
    await button("Give it up").click()
    await tab.page.getByRole("dialog").getByRole("button", { name: "Give it up" }).click()
    await said("10.00 USDC are back in your account.")
    await region("Withdraw").getByText("25.00 USDC").first().waitFor()
    await rows("Withdrawals").filter({ hasText: "Given up" }).waitFor()
  })

  test("a withdrawal that is approved leaves, in the dark as in the light", async () => {
    await tab.page.emulateMedia({ colorScheme: "dark" })
    await withdraw("10.5")
    await button("Approve: pay out").waitFor()
    const words = await atHand().textContent()
    expect(words).toContain("10.50 USDC move from the venue’s treasury to the party ")
    expect(words).toContain("::1220")
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
    await button("Approve: pay out").click()
    await said("Done. 10.50 USDC have left for the party that you named.")
    await region("Withdraw").getByText("14.50 USDC").first().waitFor()
    await rows("Withdrawals").filter({ hasText: "10.50" }).filter({ hasText: "Done" }).waitFor()
    expect(await Chromium.obstacles(tab, landmarks)).toEqual([])
  })

  test("nothing was thrown or refused by the policy in all of it", () => {
    const answers = /Failed to load resource: the server responded with a status of 422/
    expect([...complaints, ...tab.complaints].filter((complaint) => !answers.test(complaint))).toEqual([])
  })
})
