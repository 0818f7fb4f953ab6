/** What takes a trader more than one call, each next one depending on what was said. */
import type { Intent } from "../faults/Options.js"
import type { Answer } from "../properties/Observation.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Calls from "./Calls.js"
import type { Draft, Identity } from "./Calls.js"
import type { Desk } from "./Desk.js"

export type Journey = Extract<Intent, "twenty duplicates" | "lost reply" | "fence race" | "walk a listing">

/** What a trader drafts for its journeys. */
export interface Drafts {
  readonly nextKey: () => string
  readonly make: (intent: Intent) => Draft
  /** Commands whose answer may be lost on the way. */
  readonly risky: ReadonlyArray<(intent: Intent) => Draft>
  /** Keeps a draft to repeat it some time. */
  readonly remember: (draft: Draft) => void
}

/** Most pages of a listing that are read one after the other. */
const maxPages = 12

const textAt = (answer: Answer | undefined, name: string): string | undefined => {
  const json = answer?.json
  const value = typeof json === "object" && json !== null ? (json as { readonly [name: string]: unknown })[name] : undefined
  return typeof value === "string" ? value : undefined
}

/** The journeys of one trader; each calls `next` when it has ended. */
export const make = (
  desk: Desk,
  who: Identity,
  random: SimRandom,
  drafts: Drafts
): Readonly<Record<Journey, (intent: Journey, next: () => void) => void>> => {
  const { model, time } = desk

  /** Something whose answer may be lost, under a key that nothing else has. */
  const original = (intent: Journey): Draft => {
    const draft = random.pick(drafts.risky)(intent)
    drafts.remember(draft)
    return { ...draft, intent, persistent: false }
  }

  /** The clientOrderId of a draft's only order, if it has one. */
  const clientOrderIdOf = (draft: Draft): string | undefined =>
    draft.endpoint === "placeOrder" ? (JSON.parse(draft.body) as { readonly clientOrderId: string }).clientOrderId : undefined

  return {
    "twenty duplicates": (intent, next) => {
      const draft = drafts.make(intent)
      drafts.remember(draft)
      let outstanding = 20
      for (let index = 0; index < 20; index++) {
        desk.issue(draft, () => {
          outstanding--
          if (outstanding === 0) next()
        })
      }
    },
    // Asks once, looks up what became of it, makes sure of what was never seen, and sends the original late.
    "lost reply": (intent, next) => {
      const draft = original(intent)
      const key = draft.idempotencyKey ?? ""
      const clientOrderId = random.chance(0.3) ? clientOrderIdOf(draft) : undefined
      const lookUp = clientOrderId === undefined
        ? Calls.lookUp(who, "idempotencyKey", key)
        : Calls.lookUp(who, "clientOrderId", clientOrderId)
      desk.issue(draft, (first) => {
        if (first?.status === 200 && random.chance(0.7)) return next()
        desk.issue(lookUp, (found) => {
          if (textAt(found, "outcome") !== "never_seen" || random.chance(0.2)) return next()
          const identity = clientOrderId === undefined ? { idempotencyKey: key } : { clientOrderId }
          desk.issue(Calls.fence(who, intent, drafts.nextKey(), identity), () => {
            desk.issue(draft, () => desk.issue(lookUp, next))
          })
        })
      })
    },
    // The fence is sent while the original is on its way: one of the two wins, and it stays so.
    "fence race": (intent, next) => {
      const draft = original(intent)
      const clientOrderId = random.chance(0.3) ? clientOrderIdOf(draft) : undefined
      const identity = clientOrderId === undefined ? { idempotencyKey: draft.idempotencyKey ?? "" } : { clientOrderId }
      let outstanding = 2
      const ended = (): void => {
        outstanding--
        if (outstanding === 0) desk.issue({ ...draft, persistent: true }, next)
      }
      const fence = (): void => {
        desk.issue(Calls.fence(who, intent, drafts.nextKey(), identity), ended)
      }
      const send = (): void => {
        desk.issue(draft, ended)
      }
      time.after(random.next() * 10, fence)
      time.after(random.next() * 10, send)
    },
    "walk a listing": (_, next) => {
      const market = random.pick(model.markets).parameters
      const limit = random.pick([1, 2, 3, 10, 40])
      const [endpoint, target, credential] = random.pick([
        ["listOrders", `/v1/accounts/${who.accountId}/orders?limit=${limit}`, "trader"],
        ["listOrders", `/v1/accounts/${who.accountId}/orders?limit=${limit}&status=open`, "trader"],
        ["listOrders", `/v1/accounts/${who.accountId}/orders?limit=${limit}&marketId=${market.marketId}`, "trader"],
        ["listFills", `/v1/accounts/${who.accountId}/fills?limit=${limit}`, "trader"],
        ["listTrades", `/v1/markets/${market.marketId}/trades?limit=${limit}`, "none"]
      ] as const)
      const turn = (pages: number, cursor: string | undefined): void => {
        if (pages === maxPages || !desk.isOpen()) return next()
        const at = cursor === undefined ? target : `${target}&cursor=${encodeURIComponent(cursor)}`
        const page = { ...Calls.read(who, endpoint, at, credential), intent: "walk a listing", persistent: true }
        desk.issue(page, (answer) => {
          const following = textAt(answer, "nextCursor")
          if (following === undefined) return next()
          turn(pages + 1, following)
        })
      }
      turn(0, undefined)
    }
  }
}
