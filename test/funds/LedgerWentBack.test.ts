/**
 * A participant that is restored from its backup: the same events have other offsets then, because events of its own are gone. What it
 * has paid must not be given back, wherever its acceptance lies now.
 */
import { Effect } from "effect"
import { describe, expect, test } from "vitest"
import { Offsets } from "../../src/funds/Offsets.js"
import type { Transport } from "../../src/ledger/Transport.js"
import { Bank, Owner } from "./Bank.js"

const amountAtoms = 60_000_000

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null

/** Changes the numbers with given names in a body. */
const renumbered = (body: unknown, names: ReadonlySet<string>, to: (offset: number) => number): unknown => {
  if (Array.isArray(body)) return body.map((each) => renumbered(each, names, to))
  if (!isObject(body) || body instanceof Uint8Array) return body
  return Object.fromEntries(
    Object.entries(body).map((
      [name, value]
    ) => [name, names.has(name) && typeof value === "number" ? to(value) : renumbered(value, names, to)])
  )
}

/** A connection over which there are events of the participant's own behind an offset, until it is restored. No lookup by hash. */
class Participant {
  ownEvents = 0
  behind = 0
  end = 0
  knowsHashes = false

  readonly way = (transport: Transport): Transport => (question) => {
    if (question.path.includes("completion-by-hash") && !this.knowsHashes) return Effect.succeed({ status: 404, body: "not found" })
    const { behind, ownEvents } = this
    const inner = (offset: number) => offset <= behind ? offset : Math.max(behind, offset - ownEvents)
    const outer = (offset: number) => offset <= behind ? offset : offset + ownEvents
    // What is read up to the end is read up to behind its own events, as long as nothing follows them.
    const through = (reply: unknown) =>
      JSON.parse(JSON.stringify(reply), (name, value) =>
        name === "OffsetCheckpoint" && value.value.offset === behind
          ? { ...value, value: { ...value.value, offset: behind + ownEvents } }
          : value)
    const asked = renumbered(question.body, new Set(["beginExclusive", "activeAtOffset", "value"]), inner)
    return Effect.map(transport({ ...question, body: asked }), (reply) => {
      const body = renumbered(reply.body, new Set(["offset"]), outer)
      if (question.path.endsWith("/completions")) return { ...reply, body: through(body) }
      if (question.path.endsWith("ledger-end")) {
        const { offset } = body as { readonly offset: number }
        this.end = offset - ownEvents
        return { ...reply, body: { ...body as object, offset: Math.max(offset, behind + ownEvents) } }
      }
      return { ...reply, body }
    })
  }

  /** Five events of its own happen. */
  goOn(): void {
    this.behind = this.end
    this.ownEvents = 5
  }

  restore(): void {
    this.ownEvents = 0
  }
}

const details = async (bank: Bank) => (await bank.venue.ask("GET", "/readyz")).json.details

/** A venue over such a participant, with somebody who has 200 USDC. */
const opened = async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  const participant = new Participant()
  await bank.restartOver(participant.way)
  await bank.venue.leap(30_000)
  return { bank, owner, participant }
}

/** A withdrawal that the ledger takes and decides after two minutes. */
const submitted = async (when: "own events first" | "own events later") => {
  const { bank, owner, participant } = await opened()
  if (when === "own events first") participant.goOn()
  await bank.venue.leap(30_000)
  await bank.script([
    { on: "execute", step: "treasury_withdrawal", skip: 0, times: 1, fault: { name: "complete_after", afterMs: 120_000 } }
  ])
  const id = await owner.request("withdrawal", amountAtoms, await owner.party)
  expect(await owner.turn("withdrawal", id, [])).toBe("submitted")
  if (when === "own events later") participant.goOn()
  await bank.venue.leap(60_000)
  const others = async () => {
    for (let each = 0; each < 7; each++) await bank.give(await owner.party, 1_000_000)
  }
  const status = async () => (await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).status
  return { bank, id, others, owner, participant, status }
}

const isBalanced = async (bank: Bank) => expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0", withdrawalsStopped: false })

const isPaidOnce = async (bank: Bank, owner: Owner) => {
  expect(await owner.collateralAtoms).toBe(200_000_000 - amountAtoms)
  await isBalanced(bank)
}

test("an acceptance before what was read is found all the same, once it was seen that the ledger went back", async () => {
  const { bank, id, others, owner, participant, status } = await submitted("own events later")
  participant.restore()
  await bank.venue.leap(30_000)
  expect(await details(bank)).toMatchObject({ ledger: "live", transfersForTheOperator: `${id}: ledger_went_back` })
  const said = bank.said.filter((line) => line.includes("the ledger went back: its end is"))
  expect(said).toHaveLength(1)
  expect(said[0]).toContain(`submitted and not decided: treasury_withdrawal of ${id}. Stop withdrawals now, and look on the ledger`)
  await bank.venue.leap(60_000)
  await others()
  await bank.venue.leap(7_200_000, 60_000)
  expect(await status()).toBe("ledger_confirmed")
  expect(await details(bank)).toMatchObject({ transfersForTheOperator: "" })
  await isPaidOnce(bank, owner)
  await bank.venue.stop()
})

test("and where nobody saw it, because the ledger had grown again before it was asked", async () => {
  const { bank, others, owner, participant, status } = await submitted("own events later")
  await bank.script([{ on: "ledger_end", skip: 0, times: 10_000, fault: { name: "drop_answer" } }])
  participant.restore()
  await bank.venue.leap(90_000)
  await others()
  await bank.script([])
  await bank.venue.leap(1_200_000, 5_000)
  expect(await status()).toBe("ledger_confirmed")
  await isPaidOnce(bank, owner)
  await bank.venue.stop()
})

test("a step that was bound before is not submitted while the ledger's end is behind where it is bound", async () => {
  const { bank, owner, participant } = await opened()
  participant.goOn()
  await bank.venue.leap(30_000)
  const id = await owner.request("withdrawal", amountAtoms, await owner.party)
  const path = "/v1/accounts/{account}/withdrawals/confirm"
  const begun = await owner.must("POST", path, { action: "initiate", withdrawalId: id })
  participant.restore()
  await bank.venue.leap(60_000)
  await owner.ask("POST", path, { withdrawalId: id, ...owner.completion(begun) })
  const view = await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)
  expect(view.status).not.toBe("submitted")
  expect(await details(bank)).toMatchObject({ transfersForTheOperator: `${id}: ledger_went_back` })
  // Once the ledger has grown past it, nothing that lies before can be the step's own.
  for (let each = 0; each < 8; each++) await bank.give(await owner.party, 1_000_000)
  await bank.venue.leap(7_200_000, 60_000)
  expect(await details(bank)).toMatchObject({ transfersForTheOperator: "" })
  await isBalanced(bank)
  await bank.venue.stop()
})

describe("an acceptance that lies before where its step is bound", () => {
  test("cannot be found: nothing is concluded from that until the venue is started again", async () => {
    const { bank, id, others, owner, participant, status } = await submitted("own events first")
    participant.restore()
    await bank.venue.leap(70_000)
    await others()
    await bank.venue.leap(7_200_000, 60_000)
    expect(await status()).toBe("submitted")
    expect(await details(bank)).toMatchObject({ ledger: "live", transfersForTheOperator: `${id}: ledger_went_back` })
    await owner.signIn()
    await owner.ask("DELETE", `/v1/accounts/{account}/withdrawals/${id}`)
    expect(await status()).toBe("submitted")
    // The books are compared meanwhile: the ledger has paid, and no withdrawal is confirmed.
    expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: String(-amountAtoms), withdrawalsStopped: true })
    // Who starts it again says that the offsets hold from now on.
    await bank.restart()
    await bank.venue.leap(60_000)
    expect(await status()).toBe("requested")
    await bank.venue.stop()
  })

  test("is told to the operator where the ledger looks it up by its hash", async () => {
    const { bank, id, others, participant, status } = await submitted("own events first")
    participant.knowsHashes = true
    participant.restore()
    await bank.venue.leap(70_000)
    await others()
    await bank.venue.leap(60_000)
    await bank.restart()
    await bank.venue.leap(60_000)
    expect(await status()).toBe("submitted")
    expect(await details(bank)).toMatchObject({ transfersForTheOperator: `${id}: ledger_went_back` })
    await bank.venue.stop()
  })
})

test("a venue that is started behind what it had read compares its books", async () => {
  const { bank, owner, participant } = await opened()
  participant.goOn()
  await bank.venue.leap(120_000)
  await bank.venue.stop()
  participant.restore()
  await bank.restartOver(participant.way)
  await bank.venue.leap(30_000)
  expect(await details(bank)).toMatchObject({ ledger: "live", transfersForTheOperator: "" })
  expect(bank.said.filter((line) => line.includes("the ledger went back: its end is"))).toHaveLength(1)
  await isBalanced(bank)
  expect(await owner.confirm("withdrawal", await owner.request("withdrawal", amountAtoms, await owner.party))).toBe("ledger_confirmed")
  await isPaidOnce(bank, owner)
  await bank.venue.stop()
})

describe("the ledger's offsets", () => {
  const step = (commandId: string, submissions: number, isConfirmed = false) => ({
    binding: { commandId },
    confirmation: isConfirmed ? {} : null,
    submissions: Array.from({ length: submissions }),
    unlisted: 0
  })

  /** A partial object in place of the state. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a part of the state
  const over = (...steps: ReadonlyArray<unknown>): any => ({ funds: { offset: 10 }, openTransfers: () => [{ steps }] })

  test("are in doubt for what was submitted and is not accepted when the end is behind what was told", () => {
    const offsets = new Offsets(over(step("a", 1), step("b", 0), step("c", 1, true)))
    offsets.told(12, 10)
    offsets.told(11, 12)
    const doubt = (commandId: string) => offsets.doubt(over(step(commandId, 1)).openTransfers()[0].steps[0])?.reason
    expect([offsets.times, doubt("a"), doubt("b"), doubt("c")]).toEqual([1, "ledger_went_back", undefined, undefined])
    offsets.told(11, 11)
    expect(offsets.times).toBe(1)
  })

  test("are as the journal has them at first", () => {
    const offsets = new Offsets(over(step("a", 1)))
    offsets.told(9, offsets.known)
    expect([offsets.times, offsets.known]).toEqual([1, 9])
  })

  test("go back for no answer that another one has overtaken", () => {
    const offsets = new Offsets(over(step("a", 1)))
    const { known } = offsets
    offsets.told(12, known)
    offsets.told(11, known)
    expect([offsets.times, offsets.known]).toEqual([0, 12])
  })
})
