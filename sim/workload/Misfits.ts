/**
 * A client that repeats other clients' calls, on any route, in a form that is not allowed: without a credential or with an invalid one,
 * for another's account or none, for a market that does not exist, with an unknown query, with a body that is too large or has a wrong
 * type, and now and then by a method that there is not. So every endpoint's answers to such mistakes are tested, not just those for
 * orders. It draws from a generator of its own, and makes a given number of calls.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import type { Misfits as Options } from "../faults/Options.js"
import * as Funds from "../reading/Funds.js"
import * as Identity from "../reading/Identity.js"
import * as Requests from "../reading/Requests.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Draft } from "./Calls.js"
import type { Desk } from "./Owners.js"
import { Pace } from "./Pace.js"

/** A way to distort a call; undefined where the call cannot be distorted in that way. */
type Way = (draft: Draft, desk: Desk, random: SimRandom) => Partial<Draft> | undefined

/** The account in a path. */
const ofAccount = /^(\/v1\/accounts\/|\/v1\/operator\/accounts\/)[^/?]+/
/** The market in a path. */
const ofMarket = /(\/markets\/)[^/?]+/
/** Other ids in paths, by their last segment. */
const lastSegment = /(\/)(?:ord_|dep_|wdr_|pch_|key_|\{of )[^/?]*(?=$|\?)/

/** The draft with another name where the path matches a pattern, whose first group stays; undefined where that changes nothing. */
const naming = ({ target }: Draft, pattern: RegExp, name: () => string): Partial<Draft> | undefined => {
  const named = target.replace(pattern, (_, before: string) => before + name())
  return named === target ? undefined : { target: named }
}

const weights = { none: 3, wrong: 2, foreign: 5, nobody: 2, market: 3, unknown: 3, query: 4, large: 2, kind: 3 }

const ways: Readonly<Record<keyof typeof weights, Way>> = {
  none: () => ({ credential: "none", token: "" }),
  wrong: ({ token }, _, random) => ({ credential: "wrong", token: random.pick(["pk_nonsense", "sess_nonsense", `${token.slice(0, 8)}x`]) }),
  foreign: (draft, { model }, random) => {
    const other = idOf(random.pick(model.accounts).born)
    return naming(draft, ofAccount, () => other)
  },
  nobody: (draft) => naming(draft, ofAccount, () => "acc_nobody"),
  market: (draft, _, random) => naming(draft, ofMarket, () => random.pick(["NONE-USDC-PERP", "NONE", "BTC-USDT-PERP"])),
  unknown: (draft) => naming(draft, lastSegment, () => "none"),
  query: ({ target }) => ({ target: `${target}${target.includes("?") ? "&" : "?"}colour=blue` }),
  large: ({ body }) => body === "" ? undefined : { body: `${body}${" ".repeat(Requests.bodyLimit)}` },
  kind: ({ body }, _, random) => body === "" ? undefined : { contentType: random.pick(["", "text/plain", "application/jsonp"]) }
}

interface MisfitsDesk extends Desk {
  /** A draft with its references resolved. */
  readonly resolved: (draft: Draft) => Draft
  /** The last call at each endpoint that was made with a valid credential. */
  readonly said: ReadonlyMap<string, Draft>
}

/** How many further ways are tried where the one that was drawn does not apply. */
const tries = 4

/** Whether a call is allowed as it is, for its client. */
const isGood = (draft: Draft): boolean => {
  const { accountId, body, method, target } = draft
  if (Requests.read(draft)._tag === "asked") return true
  const reading = Funds.read(method, target, body) ?? Identity.read(method, target, body)
  if (reading?.wish === undefined || !Requests.isReadable(draft)) return false
  return reading.accountId === undefined || reading.accountId === accountId
}

/** A call in a form that is not allowed; undefined where the distorted call is allowed all the same. */
const distorted = (draft: Draft, desk: MisfitsDesk, random: SimRandom): Draft | undefined => {
  for (let index = 0; index < tries; index++) {
    const change = ways[random.weighted(weights)](draft, desk, random)
    if (change === undefined) continue
    const varied = { ...draft, ...change, scope: undefined, persistent: false, intent: "misfit" }
    if (varied.credential !== draft.credential || !isGood(desk.resolved(varied))) return varied
  }
  return undefined
}

/** How often what is read is asked for by a method that no route has. */
const otherMethodShare = 0.15

/** A read by another method, where it is known what is read; otherwise the call as it is. */
const byOtherMethod = (draft: Draft, { resolved }: MisfitsDesk): Draft => {
  const other = { ...draft, method: "PATCH", endpoint: "" }
  const reading = Requests.read(resolved(other))
  return draft.method === "GET" && reading._tag === "nowhere" && reading.status === 405 ? other : draft
}

/** Starts the client. */
export const start = (desk: MisfitsDesk, random: SimRandom, set: Options): void => {
  const { said } = desk
  const methods = random.split("methods")
  let keys = 0
  const act = (): void => {
    const drawn = said.size === 0 ? undefined : distorted(random.pick([...said.values()]), desk, random)
    if (drawn === undefined) return pace.next()
    const idempotencyKey = drawn.idempotencyKey === undefined ? undefined : `misfit-${keys++}`
    const draft = methods.chance(otherMethodShare) ? byOtherMethod(drawn, desk) : drawn
    pace.say({ ...draft, client: "misfit", idempotencyKey })
  }
  const pace = new Pace(desk, random, set, 0, act)
  pace.next()
}
