/** What is asked before something that cannot be undone: a dialog speaks for its own task alone. */
import { expect, test } from "vitest"
import { built, elements, textOf } from "./Parts.js"

type Part = (props: object) => unknown

const { ApiKeysPage, Confirm, PasskeysPage, Positions } = await built<Readonly<Record<string, Part>>>(
  `export { Confirm } from "./parts/Confirm.js"
  export { ApiKeysPage } from "./pages/ApiKeys.js"
  export { PasskeysPage } from "./pages/Passkeys.js"
  export { Positions } from "./parts/market/Positions.js"`
)

const task = (isBusy: boolean) => ({ isBusy: { value: isBusy }, failure: { value: undefined } })

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
    }), /^Close$/]
]

test.each(offers)("nothing else is asked of %s while the task of another one is under way", (_what, shown, name) => {
  const areOff = [false, true].map((isBusy) =>
    elements(shown(isBusy), "button").filter((each) => name.test(textOf(each))).map((each) => each.props["disabled"])
  )
  expect(areOff).toEqual([[false, false], [true, true]])
})
