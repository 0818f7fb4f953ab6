/** What is asked before something that cannot be undone: a dialog speaks for its own task alone. */
import { expect, test } from "vitest"
import { Keyed } from "../../src/console/state/Keyed.js"
import { built, elements, textOf } from "./Parts.js"

type Part = (props: object) => unknown

const { ApiKeysPage, Confirm, Orders, PasskeysPage, Positions, SecurityPage } = await built<Readonly<Record<string, Part>>>(
  `export { Confirm } from "./parts/Confirm.js"
  export { ApiKeysPage } from "./pages/ApiKeys.js"
  export { PasskeysPage } from "./pages/Passkeys.js"
  export { SecurityPage } from "./pages/Security.js"
  export { Orders } from "./parts/market/Orders.js"
  export { Positions } from "./parts/market/Positions.js"`
)

const task = (isBusy: boolean) => ({ isBusy: { value: isBusy }, failure: { value: undefined }, clear: () => {} })

/** A dialog that is asked: what it calls, and what the browser's dialog is told to do. */
const asked = (isBusy: boolean, isDone = true) => {
  const did: Array<string> = []
  const shown = Confirm!({
    title: "Revoke this key?",
    action: "Revoke it",
    task: task(isBusy),
    children: "",
    onConfirm: async () => isDone,
    onClose: () => did.push("onClose")
  })
  const [dialog] = elements(shown, "dialog")
  dialog!.ref!.current = { close: () => did.push("close"), showModal: () => did.push("showModal") }
  const buttons = elements(shown, "button").map((each) => [textOf(each), each.props["disabled"]])
  const call = (kind: string, name: string): unknown =>
    (elements(shown, kind)[0]!.props[name] as (event: object) => unknown)({ preventDefault: () => {} })
  return { buttons, call, did }
}

test("a dialog is left, or closed by Escape, until its task is under way", () => {
  const { buttons, call, did } = asked(false)
  expect(buttons).toEqual([["Keep it", false], ["Revoke it", false]])
  call("dialog", "onClose")
  expect(did).toEqual(["onClose"])
})

test("a dialog whose task is under way stays: what is being done cannot be kept from being done by leaving it", () => {
  const { buttons, call, did } = asked(true)
  expect(buttons).toEqual([["Keep it", true], ["Working…", true]])
  call("dialog", "onClose")
  expect(did).toEqual(["showModal"])
})

test.each([[true, ["close"]], [false, []]] as const)("a dialog closes itself where its task was done (%s)", async (isDone, closes) => {
  const { call, did } = asked(false, isDone)
  call("form", "onSubmit")
  for (let turn = 0; turn < 9; turn++) await Promise.resolve()
  expect(did).toEqual(closes)
})

test("a dialog begins without what an earlier one has said, and its request is another one", async () => {
  let keys = 0
  const command = new Keyed({ nextKey: () => `key-${++keys}`, now: () => 0 })
  const sent: Array<string> = []
  const lost = async ({ key }: { readonly key: string }) => {
    sent.push(key)
    return { failure: { message: "The venue did not answer.", advice: "", code: undefined, requestId: undefined, again: true } as const }
  }
  const shown = (): string => textOf(Confirm!({ title: "", action: "", task: command, children: "", onConfirm: lost, onClose: () => {} }))
  expect([await command.ask("all", lost), await command.ask("all", lost)]).toEqual([false, false])
  expect(command.failure.value?.message).toBe("The venue did not answer.")
  expect(shown()).not.toContain("The venue did not answer.")
  await command.ask("all", lost)
  expect(sent).toEqual(["key-1", "key-1", "key-2"])
})

const list = (value: object) => ({ value: { value }, failure: { value: undefined } })
const never = { createdAtEpochMs: null, lastUsedAtEpochMs: null, expiresAtEpochMs: null, approvesFromEpochMs: null }
const position = (marketId: string) => ({
  positionId: marketId,
  marketId,
  side: "long",
  quantity: "1",
  avgEntryPrice: "1",
  markPrice: "1",
  liquidationPrice: null,
  initialMargin: "1",
  unrealizedPnl: "0"
})

/** What offers to ask for something, with a task that is under way or not. */
const offers: ReadonlyArray<readonly [string, (isBusy: boolean) => unknown, RegExp]> = [
  ["a key", (isBusy) =>
    ApiKeysPage!({
      title: "API keys",
      store: {
        apiKeys: {
          revoking: task(isBusy),
          list: list({ keys: ["a", "b"].map((keyId) => ({ ...never, keyId, displayPrefix: keyId, state: "active", scopes: [] })) })
        }
      }
    }), /^Revoke$/],
  ["a passkey", (isBusy) =>
    PasskeysPage!({
      title: "Passkeys",
      store: {
        passkeys: {
          adding: task(false),
          removing: task(isBusy),
          list: list({ passkeys: ["a", "b"].map((displayName) => ({ ...never, credentialId: displayName, displayName })) })
        }
      }
    }), /^Remove$/],
  ["a position", (isBusy) =>
    Positions!({
      positions: [position("BTC-USDC-PERP"), position("ETH-USDC-PERP")],
      triggers: [],
      terms: { marketId: "XAU-USDC-PERP" },
      trading: { closing: task(isBusy), exiting: task(false) }
    }), /^Close$/],
  ["a position's exits", (isBusy) =>
    Positions!({
      positions: [position("BTC-USDC-PERP")],
      triggers: [],
      terms: { marketId: "BTC-USDC-PERP" },
      trading: { closing: task(false), exiting: task(isBusy) }
    }), /^Exits$/],
  ["a market's orders", (isBusy) =>
    Orders!({
      marketId: "BTC-USDC-PERP",
      orders: [{ orderId: "a", side: "buy", quantity: "1", filledQuantity: "0", price: "1", createdAtEpochMs: null }],
      portfolio: { taskOf: () => task(false) },
      trading: { cancelingAll: task(isBusy) }
    }), /^Cancel all in this market$/],
  ["the other sessions", (isBusy) =>
    SecurityPage!({
      title: "Security",
      store: { activity: { ending: task(isBusy), list: list({ rows: [] }), older: task(false), hasMore: false } }
    }), /^Sign out everywhere else$/]
]

test.each(offers)("nothing else is asked of %s while the task of another one is under way", (_what, shown, name) => {
  const areOff = [false, true].map((isBusy) =>
    new Set(elements(shown(isBusy), "button").filter((each) => name.test(textOf(each))).map((each) => each.props["disabled"]))
  )
  expect(areOff).toEqual([new Set([false]), new Set([true])])
})
