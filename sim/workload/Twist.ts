/**
 * A call repeated under its key with a difference: either one thing is changed to another value that the operation accepts, so that a
 * venue which forgets to compare that one thing answers as if it were the same request; or the same request is spelled otherwise, so that
 * a venue which compares spellings refuses it. The contract says what can be varied (`Variations`), and `sim/reading` whether two requests
 * are the same.
 */
import type { Reading } from "../reading/Asked.js"
import * as Requests from "../reading/Requests.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Draft } from "./Calls.js"
import * as Spelling from "./Spelling.js"
import * as Variations from "./Variations.js"

/** Most attempts at a change: a drawn one may make the request invalid together with the rest of it. */
const tries = 40

const canonicalOf = (reading: Reading): string | undefined => reading._tag === "asked" ? reading.asked.canonical : undefined

const isAnother = (draft: Draft, varied: Draft): boolean => {
  const canonical = canonicalOf(Requests.read(varied))
  return canonical !== undefined && canonical !== canonicalOf(Requests.read(draft))
}

/** Most attempts at another spelling of a request. */
const sameTries = 6

/** How often defaults are written out in full. */
const inFullShare = 0.7

/** How often the path is changed instead of the body, where both can be. */
const pathShare = 0.2

/** A call repeated under its key that asks for something else, in one thing of its path or its body. */
export const twisted = (draft: Draft, random: SimRandom): Draft => {
  const members = Variations.members(draft.endpoint)
  const body: unknown = draft.body === "" ? undefined : JSON.parse(draft.body)
  for (let index = 0; index < tries; index++) {
    const varied: Draft = members.length === 0 || random.chance(pathShare)
      ? { ...draft, target: Variations.ofPath(draft.endpoint, draft.target, random) }
      : { ...draft, body: JSON.stringify(Variations.ofMember(body, random.pick(members), random)) }
    if (isAnother(draft, varied)) return { ...varied, intent: "key with another body" }
    if (members.length === 0) continue
    // Some members exclude each other.
    const alone: Draft = { ...varied, body: JSON.stringify(Variations.without(JSON.parse(varied.body), random.pick(members), random)) }
    if (isAnother(draft, alone)) return { ...alone, intent: "key with another body" }
  }
  return draft
}

/** A request made invalid by one thing in its body; undefined where the attempt left it valid. */
export const broken = (draft: Draft, random: SimRandom): Draft | undefined => {
  const members = Variations.members(draft.endpoint)
  if (members.length === 0) return undefined
  const body: unknown = JSON.parse(draft.body)
  const [member] = random.chance(0.1) ? Object.entries(body as object) : []
  const text = member === undefined
    ? JSON.stringify(Variations.broken(body, random.pick(members), random))
    : draft.body.replace("{", `{${JSON.stringify(member[0])}:${JSON.stringify(member[1])},`)
  const varied = { ...draft, body: text }
  return Requests.read(varied)._tag === "malformed" ? varied : undefined
}

/** A body with the default of every optional member written out. */
const inFull = (draft: Draft, body: unknown, canonical: string): unknown => {
  const isSame = (varied: unknown): boolean => canonicalOf(Requests.read({ ...draft, body: JSON.stringify(varied) })) === canonical
  let said = body
  for (const member of Variations.members(draft.endpoint)) {
    if (member.isOptional) said = Variations.saidAs(said, member).find(isSame) ?? said
  }
  return said
}

/** A request spelled otherwise: members in another order, decimals and defaults written or left out, white space. */
export const respelled = (draft: Draft, random: SimRandom): Draft => {
  const canonical = canonicalOf(Requests.read(draft))
  if (canonical === undefined || draft.body === "") return draft
  const same = (varied: Draft): Draft => canonicalOf(Requests.read(varied)) === canonical ? varied : draft
  const members = Variations.members(draft.endpoint).filter(({ isOptional }) => isOptional)
  let body: unknown = JSON.parse(draft.body)
  // Most attempts would change the meaning; a few are enough to find a member with a default.
  for (let index = 0; index < sameTries && members.length > 0; index++) {
    const varied = Variations.ofMember(body, random.pick(members), random)
    if (same({ ...draft, body: JSON.stringify(varied) }) !== draft) body = varied
  }
  if (random.split(`in full ${draft.idempotencyKey}`).chance(inFullShare)) body = inFull(draft, body, canonical)
  return same({ ...draft, body: Spelling.written(body, random) })
}
