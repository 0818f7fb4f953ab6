/** Requests with several entries of which one is another account's: none of the entries may be carried out. */
import { accountId } from "../../src/domain/Ids.js"
import type { Draft } from "./Calls.js"
import type { Seat } from "./Seat.js"

/** How often one of several entries is another account's, and how often it is not the first. */
const foreignShare = 0.12
const laterShare = 0.8

/** The request, now and then with one entry of another account added. */
export const amongOwn = ({ model, random, who }: Seat, draft: Draft): Draft => {
  const beside = random.split(`among own ${draft.idempotencyKey}`)
  const entries = draft.body.split(who.accountId).length - 1
  const others = model.accounts.filter(({ index }) => index !== who.account)
  if (entries < 2 || others.length === 0 || !beside.chance(foreignShare)) return draft
  const other = accountId(beside.pick(others).born)
  const foreign = beside.chance(laterShare) ? beside.between(1, entries - 1) : 0
  let entry = 0
  const body = draft.body.replaceAll(who.accountId, (own) => entry++ === foreign ? other : own)
  return { ...draft, intent: "malformed", body, scope: undefined, persistent: false }
}
