/**
 * The owner's pages in a real browser against the real venue, as a person uses them on a telephone: an account with a passkey, a second
 * one, agents that request keys. Without a Chromium these tests are skipped, and reported by name.
 */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { apiKeyOf, readKeys, type StoredKey } from "../../src/client/ccxt/NodeKeyFile.js"
import * as Page from "../../src/edge/system/docs/Page.js"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import * as Chromium from "./Chromium.js"
import { Tab } from "./Chromium.js"
import { freePort } from "./FreePort.js"

const s256 = (text: string): string => createHash("sha256").update(text).digest("base64url")

describe.skipIf(Chromium.executable === undefined)("the owner's pages in Chromium", () => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "venue-console-"))
  let venue: VenueProcess
  let browser: Browser
  let tab: Tab
  let origin: string

  beforeAll(async () => {
    if (Chromium.executable === undefined) return
    const port = await freePort()
    origin = `http://localhost:${port}`
    const starting = VenueProcess.start(dataDir, { PORT: String(port) })
    browser = await Chromium.launch(Chromium.executable)
    tab = await Tab.open(browser)
    venue = await starting
  })

  afterAll(async () => {
    await browser?.close()
    await venue?.kill()
    fs.rmSync(dataDir, { recursive: true, force: true })
  })

  const call = async (
    method: string,
    target: string,
    body?: unknown,
    key?: string,
    idempotencyKey?: string
  ): Promise<{ readonly status: number; readonly json: any }> => {
    const response = await fetch(`${origin}${target}`, {
      method,
      headers: {
        ...(body === undefined ? undefined : { "content-type": "application/json" }),
        ...(key === undefined ? undefined : { authorization: `Bearer ${key}` }),
        ...(idempotencyKey === undefined ? undefined : { "idempotency-key": idempotencyKey })
      },
      ...(body === undefined ? undefined : { body: JSON.stringify(body) })
    })
    return { status: response.status, json: await response.json() }
  }

  /** Requests a key as an agent, as a program beside the venue does. */
  const connect = async (clientName: string, scopes: ReadonlyArray<string>) => {
    const codeVerifier = s256(clientName)
    const codeChallenge = s256(codeVerifier)
    const { json } = await call("POST", "/v1/agent-connect", { clientName, scopes, keyLifetimeSeconds: 3_600, codeChallenge })
    return {
      userCode: json.userCode as string,
      page: json.verificationUriComplete as string,
      exchange: () => call("POST", "/v1/agent-connect/exchange", { deviceCode: json.deviceCode, codeVerifier })
    }
  }

  const signedInLandmarks = ["banner", "navigation", "main", "contentinfo"]
  const button = (name: string | RegExp) => tab.page.getByRole("button", { name, exact: typeof name === "string" })
  const link = (name: string) => tab.page.getByRole("link", { name, exact: true })
  const heading = (name: string) => tab.page.getByRole("heading", { name, level: 1 })
  const rows = (table: string) =>
    tab.page.getByRole("table", { name: table }).getByRole("row").filter({ has: tab.page.getByRole("rowheader") })

  /** The name of the focused element. */
  const focused = (): Promise<string> =>
    tab.page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")

  /** Presses Tab until the focused element has this name. */
  const tabTo = async (name: string): Promise<void> => {
    const seen: Array<string> = []
    for (let presses = 0; presses < 20; presses++) {
      await tab.page.keyboard.press("Tab")
      const focused = await tab.page.evaluate(
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
      ) as string
      if (focused === name) return
      seen.push(focused)
    }
    throw new Error(`the keyboard comes to ${seen.join(", ")}, never to ${name}`)
  }

  test("the first page is painted without asking the venue for anything but the page", async () => {
    const asked: Array<string> = []
    tab.page.on("request", (request) => asked.push(new URL(request.url()).pathname.replace(/-[0-9a-f]{12}\./, ".")))
    await tab.page.goto(origin)
    await heading("Sign in").waitFor()
    expect(asked.sort()).toEqual(["/", "/assets/console.css", "/assets/icon.svg", "/assets/main.js"])
    expect(await Chromium.obstacles(tab, ["banner", "main", "contentinfo"])).toEqual([])
  })

  test("an account is made with a passkey, and is empty", async () => {
    await tab.page.getByLabel("Name of the passkey").fill("My telephone")
    await button("Create an account").click()
    await heading("Portfolio").waitFor()
    await tab.page.getByText("No open position.").waitFor()
    // Each part of the page is read by a request of its own.
    await tab.page.getByText("No open order.").waitFor()
    await expect.poll(() => tab.page.locator("dl dd").first().textContent()).toBe("0.00")
    await expect.poll(focused).toBe("Portfolio")
    expect(await Chromium.obstacles(tab, signedInLandmarks)).toEqual([])
  })

  test("by keyboard alone one signs out and in again, and comes to the keys", async () => {
    await tabTo("Sign out")
    await tab.page.keyboard.press("Enter")
    await heading("Sign in").waitFor()
    expect(await tab.page.getByRole("status").textContent()).toBe("You are signed out.")
    expect(await tab.page.evaluate("sessionStorage.length + localStorage.length + document.cookie.length")).toBe(0)
    await tabTo("Sign in with a passkey")
    await tab.page.keyboard.press("Enter")
    await heading("Portfolio").waitFor()
    await tabTo("Sign out")
    await tabTo("API keys")
    await tab.page.keyboard.press("Enter")
    await heading("API keys").waitFor()
    await tab.page.getByText("No key yet.").waitFor()
    await tabTo("Connect an agent")
    expect(await Chromium.obstacles(tab, signedInLandmarks)).toEqual([])
  })

  test("a reload in the same tab stays signed in, another tab is not", async () => {
    await tab.page.reload()
    await heading("API keys").waitFor()
    const other = await tab.page.context().newPage()
    await other.goto(origin)
    await other.getByRole("heading", { name: "Sign in" }).waitFor()
    await other.close()
  })

  test("at an address in place of a name, one is sent to the name", async () => {
    const other = await browser.newPage()
    await other.goto(`${origin.replace("localhost", "127.0.0.1")}/connect?code=BCDF-GH23`)
    await other.getByRole("link", { name: "the same page by its name" }).click()
    await other.getByText("An agent asks for a key to your account.").waitFor()
    expect(new URL(other.url())).toMatchObject({ hostname: "localhost", hash: "#/connect/BCDF-GH23" })
    await other.close()
  })

  test("a prompt that is closed signs nobody in, and says so", async () => {
    const other = await Tab.open(browser)
    await other.page.goto(origin)
    await other.confirms(false)
    await other.page.getByRole("button", { name: "Create an account" }).click()
    const alert = other.page.getByRole("alert").filter({ hasText: "Nothing was done" })
    await alert.waitFor()
    expect(await other.page.getByRole("heading", { name: "Sign in" }).isVisible()).toBe(true)
    expect(other.complaints).toEqual([])
    await other.page.context().close()
  })

  test("a second passkey is added from another device, and removed again", async () => {
    await link("Passkeys").click()
    await rows("Passkeys").filter({ hasText: "My telephone" }).waitFor()
    expect(await button(/^Remove/).count()).toBe(0)
    await tab.page.getByLabel("Name of the new passkey").fill("My laptop")
    // Between the assertion with the old passkey and the creation of the new one, the authenticator becomes another device's.
    let first: Awaited<ReturnType<Tab["emptied"]>> = []
    await tab.page.route("**/registration/options", async (route) => {
      first = await tab.emptied()
      await route.continue()
    }, { times: 1 })
    await button("Add a passkey").click()
    await rows("Passkeys").filter({ hasText: "My laptop" }).waitFor()
    expect(await rows("Passkeys").count()).toBe(2)
    expect(await Chromium.obstacles(tab, signedInLandmarks)).toEqual([])

    await button("Remove My laptop").click()
    const dialog = tab.page.getByRole("dialog", { name: "Remove this passkey?" })
    await expect.poll(focused).toBe("Keep it")
    await tab.page.keyboard.press("Escape")
    await dialog.waitFor({ state: "detached" })
    await button("Remove My laptop").click()
    await dialog.getByRole("button", { name: "Remove it" }).click()
    await dialog.waitFor({ state: "detached" })
    expect(await rows("Passkeys").count()).toBe(1)
    await tab.emptied()
    await tab.hold(first[0]!)
  })

  test("an agent is approved at the address that it shows, once the owner has signed in there", async () => {
    const agent = await connect("grid <b>bot</b>", ["read", "trade"])
    await button("Sign out").click()
    await heading("Sign in").waitFor()
    await tab.page.goto(agent.page)
    await tab.page.getByText("An agent asks for a key to your account.").waitFor()
    await button("Sign in with a passkey").click()
    await heading("Connect an agent").waitFor()
    await tab.page.getByText("grid <b>bot</b>").waitFor()
    expect(await tab.page.getByLabel("The code that your agent shows").inputValue()).toBe(agent.userCode)
    expect(await tab.page.getByRole("note").textContent()).toContain("This key can trade")
    expect(await tab.page.getByText("1 hour, from when it fetches the key").isVisible()).toBe(true)
    expect(await Chromium.obstacles(tab, signedInLandmarks)).toEqual([])
    await button("Approve, with trading").click()
    await tab.page.getByText("Approved.").waitFor()

    const { json } = await agent.exchange()
    expect(json.key.scopes).toEqual(["read", "trade"])
    const mine = `/v1/accounts/${json.key.accountId}/balance`
    expect((await call("GET", mine, undefined, json.apiKey)).status).toBe(200)
    await link("All API keys").click()
    await rows("API keys").filter({ hasText: "Active" }).waitFor()
    await button(/^Revoke pk_development_/).click()
    await tab.page.getByRole("dialog").getByRole("button", { name: "Revoke it" }).click()
    await rows("API keys").filter({ hasText: "Revoked" }).waitFor()
    expect((await call("GET", mine, undefined, json.apiKey)).json.apiKeyRejection).toBe("revoked")
  })

  test("an agent is denied by the code that is typed in, and gets nothing", async () => {
    const agent = await connect("somebody else's", ["read"])
    await link("Connect an agent").click()
    await heading("Connect an agent").waitFor()
    await tab.page.getByLabel("The code that your agent shows").pressSequentially(agent.userCode.toLowerCase().replace("-", ""))
    await tab.page.keyboard.press("Enter")
    await tab.page.getByText("somebody else's").waitFor()
    expect(await button("Approve").isVisible()).toBe(true)
    await button("Deny").click()
    await tab.page.getByText("Denied. The agent gets no key.").waitFor()
    expect((await agent.exchange()).json.code).toBe("access_denied")
  })

  test("what happened is listed, newest first", async () => {
    await link("Security").click()
    await rows("Security events").first().waitFor()
    const events = await rows("Security events").getByRole("rowheader").allTextContents()
    expect(events.slice(0, 5)).toEqual([
      "Agent denied",
      "API key revoked",
      "API key used from a new address",
      "API key issued",
      "Agent approved"
    ])
    expect(events.at(-1)).toBe("Account opened")
    expect(events).toEqual(expect.arrayContaining(["Passkey added", "Passkey removed", "Signed in", "Signed out"]))
    expect(await Chromium.obstacles(tab, signedInLandmarks)).toEqual([])
  })

  test("the agent at a terminal shows a link, and has a key that trades once it is approved there", async () => {
    const keyFile = path.join(dataDir, "agent", "keys.json")
    const agent = spawn(process.execPath, ["dist/tools/venue.js", "connect", "--url", origin, "--name", "terminal", "--key-file", keyFile])
    const ended = new Promise((resolve) => agent.once("exit", resolve))
    let said = ""
    for (const stream of [agent.stdout, agent.stderr]) stream.on("data", (bytes: Buffer) => said += bytes.toString())
    await expect.poll(() => said).toMatch(/link {3}\S+\n/)
    await tab.page.goto(/link {3}(\S+)/.exec(said)![1]!)
    await button("Approve, with trading").click()
    await tab.page.getByText("Approved.").waitFor()
    expect([await ended, said]).toEqual([0, expect.stringContaining(`kept in ${keyFile}`)])

    expect([fs.statSync(keyFile).mode & 0o777, fs.statSync(path.dirname(keyFile)).mode & 0o777]).toEqual([0o600, 0o700])
    const apiKey = apiKeyOf(origin, "terminal", keyFile)
    expect(said).not.toContain(apiKey.slice(-43))
    const [{ accountId, scopes }] = readKeys(keyFile) as [StoredKey]
    expect(scopes).toEqual(["read", "trade"])
    // The key may trade: the order is refused only by the engine, since the account has no money.
    const order = {
      accountId,
      marketId: "BTC-USDC-PERP",
      clientOrderId: "t-1",
      side: "buy",
      orderType: "limit",
      price: "1.0",
      quantity: "0.001"
    }
    const placed = await call("POST", "/v1/orders", order, apiKey, "t-1")
    expect([403, 422]).toContain(placed.status)
    expect(["account_not_enabled", "order_rejected"]).toContain(placed.json.code)
    expect((await call("GET", `/v1/accounts/${accountId}/balance`, undefined, apiKey)).status).toBe(200)
  })

  test("nothing was thrown, refused by the policy, or complained of in all of it", () => {
    expect(tab.complaints).toEqual([])
  })

  test("an order is taken back under one key, however often it takes", async () => {
    const keys: Array<string | undefined> = []
    const order = {
      orderId: "ord_1",
      accountId: "acc_1",
      marketId: "BTC-USDC-PERP",
      side: "buy",
      price: "60000.0",
      quantity: "0.1000",
      filledQuantity: "0.0000",
      createdAtEpochMs: 0
    }
    const json = (body: unknown, status = 200) => ({ status, contentType: "application/json", body: JSON.stringify(body) })
    const refusal = {
      requestId: "req_busy",
      code: "overloaded",
      safeMessage: "The venue is busy.",
      retryable: true,
      recoveryActions: ["wait_and_retry_same_identity"]
    }
    await tab.page.route("**/orders?**", (route) => route.fulfill(json({ orders: keys.length < 2 ? [order] : [], nextCursor: null })))
    await tab.page.route("**/orders/ord_1/cancel", (route) => {
      keys.push(route.request().headers()["idempotency-key"])
      return route.fulfill(keys.length < 2 ? json(refusal, 503) : json({}))
    })
    await link("Portfolio").click()
    await button("Cancel: buy 0.1000 BTC-USDC-PERP at 60,000.0").click()
    await tab.page.getByRole("alert").filter({ hasText: "Wait a moment, then try again" }).filter({ hasText: "req_busy" }).waitFor()
    expect(await Chromium.obstacles(tab, signedInLandmarks)).toEqual([])
    await button("Try again").click()
    await tab.page.getByText("No open order.").waitFor()
    expect(keys).toEqual([keys[0], keys[0]])
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
  })

  test("a session that the venue has ended ends here, where one was, and goes on there", async () => {
    await Promise.all([tab.page.waitForResponse("**/security-events?**"), link("Security").click()])
    const { accessToken } = JSON.parse(await tab.page.evaluate("sessionStorage.getItem('perpetuum.session')") as string) as {
      readonly accessToken: string
    }
    await fetch(`${origin}/v1/auth/sessions/current`, { method: "DELETE", headers: { authorization: `Bearer ${accessToken}` } })
    await link("Passkeys").click()
    await tab.page.getByText("Your session has ended. Sign in again to go on.").waitFor()
    await button("Sign in with a passkey").click()
    await heading("Passkeys").waitFor()
    await rows("Passkeys").first().waitFor()
  })

  test("no page of the reference is wider than a telephone, and none is refused anything by its policy", async () => {
    const before = tab.complaints.length
    const wide: Array<string> = []
    for (const name of Page.names) {
      await tab.page.goto(`${origin}/docs${name === Page.start ? "" : `/${name}`}`)
      const over = await tab.page.evaluate("document.documentElement.scrollWidth - innerWidth") as number
      if (over > 0) wide.push(`${name}: ${over}`)
    }
    expect(wide).toEqual([])
    expect(tab.complaints.slice(before)).toEqual([])
  })
})
