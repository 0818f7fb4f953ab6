/** Approvals that are sent again while the first one is being decided, by an owner who has not received its answer. */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { Authenticator } from "../identity/Authenticator.js"
import { Bank, origin, Owner } from "./Bank.js"

type Told = Awaited<ReturnType<Owner["send"]>>

const root = "/v1/accounts/{account}"

/** Something for an owner to approve: its path, and the members that identify it. */
interface Approvable {
  readonly path: string
  readonly named: object
}

/** The request to the signer that is held back while an approval is decided, and how an owner comes to be asked for one. */
interface Row {
  readonly what: string
  readonly held: "accountKeys" | "repin"
  readonly begin: (owner: Owner) => Promise<Approvable>
  /** The answer to an approval by a passkey of the account that is not pinned. */
  readonly refused: object
}

const transfer = (kind: "deposit" | "withdrawal") => async (owner: Owner): Promise<Approvable> => {
  const party = await owner.party
  const id = await owner.request(kind, 1_000_000, ...kind === "deposit" ? [] : [party])
  return { path: `${root}/${kind}s/confirm`, named: { [`${kind}Id`]: id } }
}

const changeOfParty = async (owner: Owner): Promise<Approvable> => {
  await owner.must("PUT", `${root}/ledger-party`)
  await owner.bank.venue.leap(30_000)
  return { path: `${root}/ledger-party/confirm`, named: {} }
}

const changeOfPins = async (): Promise<Approvable> => ({ path: `${root}/ledger-party/passkeys`, named: {} })

const over = { status: 401, json: { code: "passkey_assertion_invalid" } }
const notPinned = { status: 403, json: { code: "passkey_required", rejectionGuard: "passkey_not_pinned" } }

const rows: ReadonlyArray<Row> = [
  { what: "a deposit", held: "accountKeys", begin: transfer("deposit"), refused: notPinned },
  { what: "a withdrawal", held: "accountKeys", begin: transfer("withdrawal"), refused: notPinned },
  { what: "a change of party", held: "accountKeys", begin: changeOfParty, refused: notPinned },
  { what: "a change of pins", held: "repin", begin: changeOfPins, refused: over }
]

describe.each(rows)("an approval of $what", ({ begin, held, refused }) => {
  const phone = new Authenticator()
  let bank: Bank
  let owner: Owner
  let asked: Approvable

  beforeAll(async () => {
    bank = await Bank.open()
    owner = await Owner.funded(bank, 25_000_000)
    const begun = await owner.must("POST", "/v1/auth/passkeys/registration/options", { authentication: await owner.proof("add_passkey") })
    await owner.must("POST", "/v1/auth/passkeys/registration/verify", {
      challengeIdentifier: begun.challengeIdentifier,
      credential: phone.register(begun.options, origin)
    })
    asked = await begin(owner)
  })
  afterAll(() => bank.venue.stop())

  /**
   * Sends a passkey's approval twice, and asks again what is due, all while the signer holds the first approval back: the answers by then,
   * and the final ones.
   */
  const twice = async (authenticator: Authenticator) => {
    const { named, path } = asked
    const initiation = { action: "initiate", ...named }
    const due = await owner.must("POST", path, initiation)
    expect(due).toMatchObject({ status: "approval_required" })
    const { challenge, signingStep } = due
    const answer = {
      ...named,
      action: "complete",
      ...(signingStep === undefined ? {} : { signingStep }),
      challengeIdentifier: challenge.challengeIdentifier,
      firstFactor: owner.factor(challenge, authenticator)
    }
    const answers: Array<Told | undefined> = [undefined, undefined, undefined]
    const send = (index: number, body: object) =>
      void owner.send("POST", path, body).then((told) => {
        answers[index] = told
      })
    bank.hold(held)
    send(0, answer)
    await bank.venue.wait(() => bank.heldBack > 0)
    send(1, answer)
    send(2, initiation)
    await bank.venue.wait(() => answers[2] !== undefined)
    await bank.venue.settle()
    const meanwhile = [...answers]
    bank.letGo()
    await bank.venue.wait(() => answers.every((told) => told !== undefined))
    return { meanwhile, first: answers[0]!, second: answers[1]! }
  }

  const meantime = [undefined, undefined, { status: 503, json: { code: "overloaded", retryable: true } }]

  test("is waited for by its repetition, and where it is refused, the challenge is over for both", async () => {
    const { first, meanwhile, second } = await twice(phone)
    expect(meanwhile).toMatchObject(meantime)
    expect([first, second]).toMatchObject([refused, over])
  })

  test("is waited for by its repetition, and where it is accepted, both are told how things stand", async () => {
    const { first, meanwhile, second } = await twice(owner.authenticator)
    expect(meanwhile).toMatchObject(meantime)
    expect([first.status, second.status]).toEqual([200, 200])
    expect([first.json.challenge, second.json.challenge]).toEqual([undefined, undefined])
    for (const member of ["depositId", "withdrawalId", "partyChangeId"]) {
      const [one, other] = [first, second].map(({ json }) => (json.deposit ?? json.withdrawal ?? json.partyChange)?.[member])
      expect(other).toBe(one)
    }
    // A deposit's owner is told by a status of the contract to go on: `bound` is none of those.
    for (const { deposit, signingStep, status } of [first, second].map(({ json }) => json)) {
      if (deposit === undefined) continue
      expect(["submitted", "submitted_unknown"]).toContain(status)
      expect(["bound", status]).toContain(deposit.status)
      expect(signingStep).toBeDefined()
    }
  })
})
