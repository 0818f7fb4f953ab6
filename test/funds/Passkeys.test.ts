/**
 * Passkeys that are added and removed before an account has its party: whichever are removed, the signer accepts approvals by one that is
 * left.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { Authenticator } from "../identity/Authenticator.js"
import { Bank, origin, Owner } from "./Bank.js"

const amountAtoms = 25_000_000

describe("between the first deposit and the account's party", () => {
  let bank: Bank
  let owner: Owner
  const phone = new Authenticator()
  const tablet = new Authenticator()
  let left: Authenticator | undefined

  const remove = async (which: Authenticator, by: Authenticator) =>
    owner.ask("DELETE", `/v1/accounts/{account}/passkeys/${which.credentialId}`, { assertion: await owner.proof("remove_passkey", by) })

  beforeAll(async () => {
    bank = await Bank.open()
    owner = await Owner.open(bank)
    const authentication = await owner.proof("add_passkey")
    const begun = await owner.must("POST", "/v1/auth/passkeys/registration/options", { authentication })
    // The signer makes a key and pins the existing passkeys; the ledger never hears of the party.
    await bank.script([{ on: "generate_topology", skip: 0, times: 1_000, fault: { name: "drop_request" } }])
    await owner.request("deposit", amountAtoms)
    await bank.venue.leap(30_000)
    await owner.must("POST", "/v1/auth/passkeys/registration/verify", {
      challengeIdentifier: begun.challengeIdentifier,
      credential: phone.register(begun.options, origin)
    })
  })
  afterAll(() => bank.venue.stop())

  test("the last passkey that is pinned is not removed, until another one is", async () => {
    expect(await owner.must("GET", "/v1/accounts/{account}/ledger-party")).toMatchObject({ partyId: null })
    const refused = { status: 409, json: { code: "last_passkey", rejectionGuard: "passkey_not_pinned" } }
    expect(await remove(owner.authenticator, phone)).toMatchObject(refused)
    expect(await remove(owner.authenticator, owner.authenticator)).toMatchObject(refused)

    const pins = "/v1/accounts/{account}/ledger-party/passkeys"
    const due = await owner.must("POST", pins, { action: "initiate" })
    expect(due).toMatchObject({ status: "approval_required", change: "add", credentialId: phone.credentialId })
    const { challenge, challengeIdentifier, rpId } = due.challenge
    const firstFactor = owner.factor({ challenge, rpId })
    expect(await owner.must("POST", pins, { action: "complete", challengeIdentifier, firstFactor })).toMatchObject({ status: "current" })
    // A third passkey, which is not pinned, signs the removal of both pinned ones at the same time: one of them must stay.
    const authentication = await owner.proof("add_passkey")
    const begun = await owner.must("POST", "/v1/auth/passkeys/registration/options", { authentication })
    const { challengeIdentifier: registered } = begun
    await owner.must("POST", "/v1/auth/passkeys/registration/verify", {
      challengeIdentifier: registered,
      credential: tablet.register(begun.options, origin)
    })
    const proofs = [await owner.proof("remove_passkey", tablet), await owner.proof("remove_passkey", tablet)]
    const pinned = [owner.authenticator, phone]
    const answers = await Promise.all(
      pinned.map(({ credentialId }, index) =>
        owner.ask("DELETE", `/v1/accounts/{account}/passkeys/${credentialId}`, { assertion: proofs[index] })
      )
    )
    // The requests come over separate connections, so either may be first; the other one is refused.
    const removed = answers.findIndex(({ status }) => status === 204)
    expect(answers[1 - removed]).toMatchObject(refused)
    left = pinned[1 - removed]
  })

  test("and the one that is left approves the deposit once there is a party", async () => {
    await bank.script([])
    expect(left).toBeDefined()
    const byTheOneLeft = new Owner(bank, left)
    byTheOneLeft.accountId = owner.accountId
    await byTheOneLeft.signIn()
    const { deposits } = await byTheOneLeft.must("GET", "/v1/accounts/{account}/deposits")
    await bank.venue.leap(60_000)
    await bank.give(await byTheOneLeft.party, amountAtoms)
    expect(await byTheOneLeft.confirm("deposit", deposits[0].depositId)).toBe("ledger_confirmed")
  })
})
