/** Approvals for which the signer was not available at once: it is asked in the order in which the owner gave them. */
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { Bank, Owner } from "./Bank.js"

const path = "/v1/accounts/{account}/withdrawals/confirm"
const depositAtoms = 25_000_000

describe("of approvals that wait", () => {
  let bank: Bank
  let owner: Owner

  const funded = (): Promise<Owner> => Owner.funded(bank, depositAtoms)

  beforeEach(async () => {
    bank = await Bank.open()
    owner = await funded()
  })
  afterEach(() => bank.venue.stop())

  /** Requests a withdrawal and what has to be approved of it. */
  const requested = async (amountAtoms: number) => {
    const id = await owner.request("withdrawal", amountAtoms, await owner.party)
    return { id, asked: await owner.must("POST", path, { action: "initiate", withdrawalId: id }) }
  }
  type Requested = Awaited<ReturnType<typeof requested>>

  const approve = ({ asked, id }: Requested) => owner.ask("POST", path, { withdrawalId: id, ...owner.completion(asked) })

  const statusOf = async ({ id }: Requested): Promise<string> =>
    (await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).status

  test("one that was given later is not signed before one that waits for the signer", async () => {
    await funded()
    const [first, second] = [await requested(1_000_000), await requested(2_000_000)]
    expect((await bank.venue.ask("GET", "/metrics")).json).toContain("venue_open_approvals 2\n")
    bank.signerFails = true
    await approve(first)
    await bank.venue.leap(20_000)
    bank.signerFails = false
    await approve(second)
    await bank.venue.leap(180_000)
    expect([await statusOf(first), await statusOf(second)]).toEqual(["ledger_confirmed", "ledger_confirmed"])
  })

  test("nor behind a restart, whichever withdrawal was asked for first", async () => {
    await funded()
    const [first, second] = [await requested(1_000_000), await requested(2_000_000)]
    bank.signerFails = true
    await approve(second)
    await approve(first)
    bank.signerFails = false
    await bank.restart()
    await bank.venue.leap(180_000)
    expect([await statusOf(first), await statusOf(second)]).toEqual(["ledger_confirmed", "ledger_confirmed"])
  })

  test("none is asked for of a step that only an operator can set right: it expires", async () => {
    const one = await requested(1_000_000)
    await funded()
    await bank.venue.leap(700_000)
    await bank.script([{ on: "ledger_end", skip: 0, times: 1, fault: { name: "prune" } }])
    await bank.venue.leap(60_000)
    await funded()
    const again = await owner.ask("POST", path, { action: "initiate", withdrawalId: one.id })
    expect(again).toMatchObject({ status: 503, json: { recoveryActions: ["contact_operator"] } })
    await bank.venue.leap(26 * 3_600_000, 600_000)
    // The session has expired by then.
    await owner.signIn()
    expect(await statusOf(one)).toBe("expired")
  })
})
