/** Changes of the passkeys from which the signer accepts approvals: while transfers are being approved, and when no more can be pinned. */
import { describe, expect, test } from "vitest"
import { Authenticator } from "../identity/Authenticator.js"
import { Bank, origin, Owner } from "./Bank.js"

const pins = "/v1/accounts/{account}/ledger-party/passkeys"
const path = "/v1/accounts/{account}/withdrawals/confirm"

/** The token of the session that an added passkey begins. */
const add = async (owner: Owner, authenticator: Authenticator): Promise<string> => {
  const begun = await owner.must("POST", "/v1/auth/passkeys/registration/options", { authentication: await owner.proof("add_passkey") })
  const { accessToken } = await owner.must("POST", "/v1/auth/passkeys/registration/verify", {
    challengeIdentifier: begun.challengeIdentifier,
    credential: authenticator.register(begun.options, origin)
  })
  return accessToken
}

const initiate = (owner: Owner) => owner.ask("POST", pins, { action: "initiate" })

/** The first passkey's answer to the challenge for a change. */
const answerTo = (owner: Owner, { challenge: { challenge, challengeIdentifier, rpId } }: any) => ({
  action: "complete",
  challengeIdentifier,
  firstFactor: owner.factor({ challenge, rpId })
})

describe("while a withdrawal is approved that the signer has yet to sign", () => {
  const waits = {
    status: 503,
    json: { code: "dependency_unavailable", retryable: true, recoveryActions: ["wait_and_retry_same_identity"] }
  }

  /** An owner with a pinned passkey, another one to be pinned, and a withdrawal that waits for approval. */
  const scene = async () => {
    const bank = await Bank.open()
    const owner = await Owner.funded(bank, 25_000_000)
    await add(owner, new Authenticator())
    const withdrawalId = await owner.request("withdrawal", 5_000_000, await owner.party)
    const due = await owner.must("POST", path, { action: "initiate", withdrawalId })
    const approve = () => owner.must("POST", path, { withdrawalId, ...owner.completion(due) })
    const status = async () => (await owner.must("GET", `/v1/accounts/{account}/withdrawals/${withdrawalId}`)).status
    return { approve, bank, owner, status }
  }

  test("the pins are changed behind it, also by an answer to what was asked before", async () => {
    const { approve, bank, owner, status } = await scene()
    const asked = (await initiate(owner)).json
    bank.signerFails = true
    await approve()
    expect(await initiate(owner)).toMatchObject(waits)
    const answer = answerTo(owner, asked)
    expect(await owner.ask("POST", pins, answer)).toMatchObject(waits)
    bank.signerFails = false
    await bank.venue.leap(60_000)
    expect(await status()).toBe("ledger_confirmed")
    expect(await owner.ask("POST", pins, answer)).toMatchObject({ status: 200, json: { status: "current" } })
    await bank.venue.stop()
  })

  test("they wait no longer than its transaction may be recorded", async () => {
    const { approve, bank, owner, status } = await scene()
    bank.signerFails = true
    await approve()
    await bank.venue.leap(590_000, 5_000)
    expect(await initiate(owner)).toMatchObject(waits)
    await bank.venue.leap(20_000, 5_000)
    const asked = await initiate(owner)
    expect(asked).toMatchObject({ status: 200, json: { status: "approval_required" } })
    bank.signerFails = false
    expect(await owner.ask("POST", pins, answerTo(owner, asked.json))).toMatchObject({ status: 200, json: { status: "current" } })
    await bank.venue.leap(120_000, 5_000)
    expect(await status()).toBe("requested")
    await bank.venue.stop()
  })
})

test("where no more can be pinned, one that the account no longer has goes first", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 25_000_000)
  const change = async () => {
    const asked = (await initiate(owner)).json
    return { change: asked.change, ...(await owner.ask("POST", pins, answerTo(owner, asked))) }
  }
  for (let pinned = 1; pinned < 32; pinned++) {
    const passkey = new Authenticator()
    await add(owner, passkey)
    expect(await change()).toMatchObject({ change: "add", status: 200 })
    const removal = { assertion: await owner.proof("remove_passkey") }
    await owner.must("DELETE", `/v1/accounts/{account}/passkeys/${passkey.credentialId}`, removal)
  }
  const passkey = new Authenticator()
  await add(owner, passkey)
  expect(await change()).toMatchObject({ change: "remove", status: 200, json: { change: "add", credentialId: passkey.credentialId } })
  expect(await change()).toMatchObject({ change: "add", status: 200 })
  await bank.venue.stop()
})

test("a passkey that does not count is unpinned only behind what it has approved and the signer has yet to sign", async () => {
  class Uncounted extends Authenticator {
    override assert(...[options, at, how = {}]: Parameters<Authenticator["assert"]>) {
      return super.assert(options, at, { ...how, signCount: 0 })
    }
  }
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 100_000_000, new Uncounted())
  await bank.give(await owner.party, 50_000_000)
  const [older, newer] = [owner.authenticator, new Uncounted()]
  const token = await add(owner, newer)
  await owner.must("POST", pins, answerTo(owner, (await initiate(owner)).json))
  const depositId = await owner.request("deposit", 50_000_000)
  const confirm = "/v1/accounts/{account}/deposits/confirm"
  const due = await owner.must("POST", confirm, { action: "initiate", depositId })
  bank.signerFails = true
  await owner.must("POST", confirm, { depositId, ...owner.completion(due) })
  owner.token = token
  await owner.must("DELETE", `/v1/accounts/{account}/passkeys/${older.credentialId}`, {
    assertion: await owner.proof("remove_passkey", newer)
  })
  bank.signerFails = false
  expect(await initiate(owner)).toMatchObject({ status: 503 })
  await bank.venue.leap(60_000)
  expect(await owner.must("GET", `/v1/accounts/{account}/deposits/${depositId}`)).toMatchObject({
    ledgerOutcome: { outcome: "completion_accepted", step: "treasury_offer" }
  })
  expect((await initiate(owner)).json).toMatchObject({ change: "remove", credentialId: older.credentialId })
  await bank.venue.stop()
})
