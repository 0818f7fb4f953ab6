/** A real browser for tests: where it is found, how it is started, and what its pages logged. */
import * as fs from "node:fs"
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from "playwright-core"

/** Where Chromium is: as `CHROMIUM` says, or at the usual places; undefined if there is none. */
export const executable: string | undefined = [
  process.env["CHROMIUM"],
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
].find((path) => path !== undefined && path !== "" && fs.existsSync(path))

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

export const launch = (executablePath: string): Promise<Browser> => chromium.launch({ executablePath, args: flags })

/** A credential in the virtual authenticator. */
type Held = Awaited<ReturnType<typeof credentials>>[number]

const credentials = async (devtools: CDPSession, authenticatorId: string) =>
  (await devtools.send("WebAuthn.getCredentials", { authenticatorId })).credentials

/** A tab, 360 pixels wide, with an authenticator that verifies its user. */
export class Tab {
  /** What the browser reported: script errors, refusals by the policy, answers that are no success. */
  readonly complaints: Array<string> = []

  private constructor(readonly page: Page, readonly devtools: CDPSession, private readonly authenticatorId: string) {
    page.on("pageerror", (error) => this.complaints.push(`thrown: ${error.message}`))
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.complaints.push(`${message.type()}: ${message.text()}`)
    })
  }

  static async open(browser: Browser): Promise<Tab> {
    const context: BrowserContext = await browser.newContext({ viewport: { width: 360, height: 740 }, locale: "en-GB" })
    const page = await context.newPage()
    page.setDefaultTimeout(5_000)
    const devtools = await context.newCDPSession(page)
    await devtools.send("WebAuthn.enable")
    const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true
      }
    })
    return new Tab(page, devtools, authenticatorId)
  }

  held(): Promise<ReadonlyArray<Held>> {
    return credentials(this.devtools, this.authenticatorId)
  }

  /** Removes all credentials from the authenticator, so that it is another device; returns them. */
  async emptied(): Promise<ReadonlyArray<Held>> {
    const held = await this.held()
    await this.devtools.send("WebAuthn.clearCredentials", { authenticatorId: this.authenticatorId })
    return held
  }

  async hold(credential: Held): Promise<void> {
    await this.devtools.send("WebAuthn.addCredential", { authenticatorId: this.authenticatorId, credential })
  }

  /** Whether the user confirms a prompt; otherwise it fails. */
  async confirms(isUserVerified: boolean): Promise<void> {
    await this.devtools.send("WebAuthn.setUserVerified", { authenticatorId: this.authenticatorId, isUserVerified })
  }
}

/** A node of the accessibility tree. */
interface Node {
  readonly ignored: boolean
  readonly role?: { readonly value?: unknown }
  readonly name?: { readonly value?: unknown }
  readonly properties?: ReadonlyArray<{ readonly name: string; readonly value: { readonly value?: unknown } }>
}

const named: ReadonlySet<string> = new Set(["button", "link", "textbox", "table", "navigation", "dialog", "heading", "columnheader",
  "rowheader"])

/** What would keep somebody from using the page in its present state: with a screen reader, by keyboard, or on a small screen. */
export const obstacles = async ({ devtools, page }: Tab, landmarks: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const tree = (await devtools.send("Accessibility.getFullAXTree")).nodes as ReadonlyArray<Node>
  const shown = tree.filter(({ ignored }) => !ignored).map((node) => ({
    role: String(node.role?.value),
    name: String(node.name?.value ?? ""),
    level: Number(node.properties?.find(({ name }) => name === "level")?.value.value ?? 0)
  }))
  const nameless = shown.filter(({ name, role }) => named.has(role) && name.trim() === "").map(({ role }) => `a ${role} without a name`)
  const missing = landmarks.filter((landmark) => shown.filter(({ role }) => role === landmark).length !== 1)
  const levels = shown.filter(({ role }) => role === "heading").map(({ level }) => level)
  const skipped = levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)
  const inside = await page.evaluate(`({
    wide: document.documentElement.scrollWidth - innerWidth,
    twice: [...document.querySelectorAll("[id]")].map(({ id }) => id).filter((id, index, all) => all.indexOf(id) !== index),
    small: [...document.querySelectorAll("button, a.button, input")].filter((one) => one.getBoundingClientRect().height < 24).length,
    language: document.documentElement.lang,
    title: document.title
  })`) as {
    readonly wide: number
    readonly twice: ReadonlyArray<string>
    readonly small: number
    readonly language: string
    readonly title: string
  }
  return [
    ...nameless,
    ...missing.map((landmark) => `not one ${landmark}`),
    ...skipped.map((level) => `a heading of level ${level} under none of the level above`),
    ...(levels.filter((level) => level === 1).length === 1 ? [] : ["not one heading of the first level"]),
    ...(inside.wide > 0 ? [`${inside.wide} pixels beside the screen`] : []),
    ...inside.twice.map((id) => `the id ${id} twice`),
    ...(inside.small > 0 ? [`${inside.small} targets that are too small`] : []),
    ...(inside.language === "en" && inside.title.endsWith("Perpetuum") ? [] : [`called ${inside.title} in ${inside.language}`])
  ]
}
