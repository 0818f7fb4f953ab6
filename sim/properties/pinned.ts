/**
 * Safety (I11). An owner with a party on the ledger can always approve its transactions: the signer accepts approvals from one of the
 * owner's passkeys, whichever were added and removed, and whatever became of the requests.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { broken, holds, type Property } from "./Property.js"

interface State {
  model: NaiveVenue | undefined
}

export const pinned: Property<State> = {
  name: "owners-can-approve-by-one-of-their-passkeys",
  invariant: "I11",
  kind: "safety",
  initial: () => ({ model: undefined }),
  observe: (state, seen) => {
    if (seen._tag === "Inspected") state.model = seen.model
    if (seen._tag !== "Reconciled" || state.model === undefined) return holds
    const { accounts, funds, identity } = state.model
    for (const account of funds.parties.keys()) {
      const accountId = idOf(accounts[account]!.born)
      const pins = seen.book.pinned.get(accountId)
      const own = identity.passkeysOf(account).map(({ credentialId }) => credentialId)
      if (pins === undefined || !own.some((each) => pins.has(each))) {
        return broken(`${accountId} has the passkeys ${own.join(", ")}, and the signer takes approvals by ${[...pins ?? []].join(", ")}`)
      }
    }
    return holds
  }
}
