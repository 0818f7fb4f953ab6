/** Transfers that only an operator can settle: what he is told of them and for how long, and that nothing else waits with them. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import { setting } from "../../src/ledger/development/Setting.js"
import type { Reply, Transport } from "../../src/ledger/Transport.js"
import { Bank, Owner } from "./Bank.js"

const details = async (bank: Bank) => (await bank.venue.ask("GET", "/readyz")).json.details

test("a step whose completions are pruned stops, and the books are compared all the same", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  const id = await owner.request("withdrawal", 60_000_000, await owner.party)
  await bank.script([{ on: "execute", step: "treasury_withdrawal", skip: 0, times: 1_000, fault: { name: "drop_request" } }])
  await owner.turn("withdrawal", id, [])
  await bank.give(await owner.party, 1_000_000)
  await bank.script([{ on: "ledger_end", skip: 0, times: 1, fault: { name: "prune" } }])
  await bank.restart()
  await bank.venue.leap(60_000)
  expect(await details(bank)).toMatchObject({ ledger: "live", transfersForTheOperator: `${id}: completions_pruned` })
  expect(bank.said.filter((line) => line.includes("some may be of open steps, which wait for an operator"))).toHaveLength(1)
  const other = await Owner.funded(bank, 90_000_000)
  expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0", withdrawalsStopped: false })
  await bank.take(40_000_000)
  expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "-40000000", withdrawalsStopped: true })
  const request = { asset: "USDC", amountAtoms: "10000000", destinationPartyId: await owner.party }
  expect(await other.ask("POST", "/v1/accounts/{account}/withdrawals", request, "another")).toMatchObject({
    status: 422,
    json: { rejectionGuard: "withdrawals_stopped" }
  })
  expect(await details(bank)).toMatchObject({ transfersForTheOperator: `${id}: completions_pruned` })
  await bank.venue.stop()
})

/** Confirms a deposit until its owner has approved the first step, which is the venue's offer. */
const offered = async (bank: Bank, owner: Owner): Promise<string> => {
  await bank.give(await owner.party, 50_000_000)
  const id = await owner.request("deposit", 50_000_000)
  const approvals: Array<string> = []
  for (let turn = 0; approvals.length < 1 && turn < 30; turn++) {
    await owner.turn("deposit", id, approvals)
    await bank.venue.leap(5_000, 2_500)
  }
  return id
}

test("a step that another user cannot prepare again stops, and goes on once the user is what it was", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  const id = await owner.request("withdrawal", 60_000_000, await owner.party)
  const ask = () => owner.ask("POST", "/v1/accounts/{account}/withdrawals/confirm", { action: "initiate", withdrawalId: id })
  expect((await ask()).json).toMatchObject({ status: "approval_required" })
  const same = (transport: Transport) => transport
  await bank.restartOver(same, setting.synchronizerId, "another")
  // What is prepared continues under its own user: only afterwards is anything in the way.
  expect((await ask()).json).toMatchObject({ status: "approval_required" })
  await bank.venue.leap(900_000, 5_000)
  expect(await ask()).toMatchObject({ status: 503, json: { retryable: false } })
  expect(await details(bank)).toMatchObject({ ledger: "live", transfersForTheOperator: `${id}: user_changed` })
  await bank.restartOver(same)
  expect(await owner.confirm("withdrawal", id)).toBe("ledger_confirmed")
  expect(await details(bank)).toMatchObject({ transfersForTheOperator: "" })
  await bank.venue.stop()
})

test("an offer that the ledger does not find is told to the operator, and taken back once it does", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  const id = await offered(bank, owner)
  await bank.venue.leap(20_000)
  // As under another package: its template has no such offer.
  await bank.restartOver((transport) => (question) =>
    question.path.includes("active-contracts") && JSON.stringify(question.body).includes("Offer")
      ? Effect.map(transport(question),
        (reply) => ({ ...reply, body: { ...reply.body as object, activeContracts: [], nextPageToken: null } }))
      : transport(question)
  )
  expect((await owner.ask("DELETE", `/v1/accounts/{account}/deposits/${id}`)).json).toMatchObject({ status: "rejected" })
  await bank.venue.leap(60_000)
  expect(await details(bank)).toMatchObject({ openTransfers: 1, transfersForTheOperator: `${id}: offer_not_found` })
  expect(bank.said.filter((line) => line.includes(`transfer ${id} waits for an operator: stopped (offer_not_found)`))).toHaveLength(1)
  await bank.restartOver((transport) => transport)
  await bank.venue.leap(60_000)
  expect(await details(bank)).toMatchObject({ openTransfers: 0, transfersForTheOperator: "" })
  await bank.venue.stop()
})

/** A failure as Canton answers it. */
const failure = (status: number, code: string, errorCategory: number) => ({
  status,
  body: { code, cause: `the cause of ${code}`, context: {}, resources: [], errorCategory, definiteAnswer: null }
})

/** Lets the ledger answer preparations, or everything where `isAtAll`, with what `answer` is as long as it is there. */
const unpreparing = async (bank: Bank, answer?: Reply) => {
  const told: { answer: Reply | undefined; isAtAll: boolean; asked: number } = { answer, isAtAll: false, asked: 0 }
  await bank.restartOver((transport) => (question) => {
    const isPreparation = question.path.endsWith("/prepare")
    if (isPreparation) told.asked++
    return told.answer !== undefined && (isPreparation || told.isAtAll) ? Effect.succeed(told.answer) : transport(question)
  })
  return told
}

/** A deposit that has ended, and whose offer the venue has to take back, over a ledger that prepares nothing as long as it is told so. */
const takingBack = async (first: Reply) => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  const id = await offered(bank, owner)
  await bank.venue.leap(20_000)
  const told = await unpreparing(bank, first)
  expect((await owner.ask("DELETE", `/v1/accounts/{account}/deposits/${id}`)).json).toMatchObject({ status: "rejected" })
  const lines = () => bank.said.filter((line) => line.includes(`${id} does not go on`))
  return { bank, id, told, lines }
}

test("what the ledger does not prepare for want of a right, or has no time for, is no want of the payer's, and is told to the operator", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  const id = await owner.request("withdrawal", 10_000_000, await owner.party)
  const told = await unpreparing(bank)
  const initiate = () => owner.ask("POST", "/v1/accounts/{account}/withdrawals/confirm", { action: "initiate", withdrawalId: id })
  for (
    const [status, code, category] of [[401, "NA", 6], [403, "NA", 7], [408, "TIMEOUT", 3], [409, "PARTICIPANT_BACKPRESSURE", 2], [429,
      "RESOURCE_EXHAUSTED", 2]] as const
  ) {
    told.answer = failure(status, code, category)
    for (let times = 0; times < 2; times++) {
      expect(await initiate()).toMatchObject({ status: 503, json: { code: "dependency_unavailable", retryable: true } })
    }
  }
  // Once for each reason, however often it is asked: what 401 and 403 say is the same.
  expect(bank.said.filter((line) => line.includes(`${id} does not go on: the ledger: the ledger refused: `))).toHaveLength(4)
  told.answer = failure(400, "PACKAGE_SELECTION_FAILED", 9)
  expect(await initiate()).toMatchObject({ status: 422, json: { rejectionGuard: "ledger_declines" } })
  told.answer = undefined
  expect(await owner.confirm("withdrawal", id)).toBe("ledger_confirmed")
  expect(await details(bank)).toMatchObject({ ledger: "live", transfersForTheOperator: "" })
  await bank.venue.stop()
})

test("the venue's own step that the ledger does not prepare is told to the operator, and goes on soon after it does", async () => {
  const { bank, id, told } = await takingBack(failure(403, "NA", 7))
  await bank.venue.leap(3_600_000, 60_000)
  expect(await details(bank)).toMatchObject({
    ledger: "the ledger: the ledger refused: NA: the cause of NA",
    openTransfers: 1,
    transfersForTheOperator: ""
  })
  expect((await bank.venue.ask("GET", "/metrics")).json).toContain("venue_ledger_reachable 0\n")
  told.answer = failure(400, "PACKAGE_SELECTION_FAILED", 9)
  await bank.venue.leap(600_000, 60_000)
  expect(await details(bank)).toMatchObject({ ledger: "live", transfersForTheOperator: `${id}: ledger_declines` })
  const line = `transfer ${id} waits for an operator: stopped (ledger_declines): PACKAGE_SELECTION_FAILED: the cause of`
  expect(bank.said.filter((said) => said.includes(line))).toHaveLength(1)
  told.answer = undefined
  await bank.venue.leap(900_000, 60_000)
  expect(await details(bank)).toMatchObject({ ledger: "live", openTransfers: 0, transfersForTheOperator: "" })
  await bank.venue.stop()
})

test.each([
  [500, failure(500, "LEDGER_API_INTERNAL_ERROR", 4), /LEDGER_API_INTERNAL_ERROR/],
  [503, failure(503, "SERVER_IS_SHUTTING_DOWN", 1), /SERVER_IS_SHUTTING_DOWN/],
  [504, failure(504, "REQUEST_TIME_OUT", 3), /REQUEST_TIME_OUT/],
  [502, { status: 502, body: "Bad Gateway" }, /status 502: Bad Gateway/]
])("that the ledger keeps answering the venue's own step with %i is told once it has lasted", async (_, answer, says) => {
  const { bank, lines, told } = await takingBack(answer)
  for (let times = 0; told.asked === 0 && times < 100; times++) await bank.venue.leap(250, 250)
  expect(await details(bank)).toMatchObject({ ledger: "live", openTransfers: 1 })
  expect(lines()).toEqual([])
  await bank.venue.leap(600_000, 60_000)
  expect(await details(bank)).toMatchObject({ ledger: expect.stringMatching(says), openTransfers: 1, transfersForTheOperator: "" })
  expect((await bank.venue.ask("GET", "/metrics")).json).toContain("venue_ledger_reachable 0\n")
  expect(lines()).toEqual([expect.stringMatching(says)])
  told.answer = undefined
  await bank.venue.leap(120_000, 60_000)
  expect(await details(bank)).toMatchObject({ ledger: "live", openTransfers: 0 })
  await bank.venue.stop()
})

test("so is that it makes no party for an account, which nobody else asks about either", async () => {
  const bank = await Bank.open()
  let isBroken = false
  await bank.restartOver((transport) => (question) =>
    isBroken && question.path.includes("parties/external") ? Effect.succeed(failure(500, "NA", 4)) : transport(question)
  )
  await bank.venue.leap(30_000)
  isBroken = true
  const id = await (await Owner.open(bank)).request("deposit", 10_000_000)
  await bank.venue.leap(300_000, 30_000)
  expect(await details(bank)).toMatchObject({ ledger: expect.stringContaining("NA: the cause of NA"), openTransfers: 1 })
  expect(bank.said.filter((line) => line.includes(`${id} does not go on`))).toHaveLength(1)
  isBroken = false
  await bank.venue.leap(120_000, 30_000)
  expect(await details(bank)).toMatchObject({ ledger: "live", openTransfers: 1 })
  await bank.venue.stop()
})

test("the same failure is logged once, whatever number the ledger's own log has for it", async () => {
  const numbered = (number: number) => {
    const { body, status } = failure(500, "NA", 4)
    return { status, body: { ...body, cause: `An error occurred. Inquire about tid ${number.toString(16).padStart(32, "0")}` } }
  }
  const { bank, lines, told } = await takingBack(numbered(0))
  for (let number = 1; number < 20; number++) {
    told.answer = numbered(number)
    await bank.venue.leap(60_000)
  }
  expect(told.asked).toBeGreaterThan(10)
  expect(lines()).toHaveLength(1)
  await bank.venue.stop()
})

test("a venue that lacks a right asks for its own step once a minute, and a ledger that is overloaded is asked ever more rarely", async () => {
  const asked = async (answer: Reply) => {
    const { bank, told } = await takingBack(answer)
    await bank.venue.leap(3_600_000, 60_000)
    told.asked = 0
    await bank.venue.leap(3_600_000, 60_000)
    await bank.venue.stop()
    return told.asked
  }
  expect(await asked(failure(403, "NA", 7))).toBeGreaterThan(50)
  expect(await asked(failure(429, "RESOURCE_EXHAUSTED", 2))).toBeLessThan(6)
})

test("a token that is over at everything is told once, and not once more for each transfer", async () => {
  const { bank, lines, told } = await takingBack(failure(401, "NA", 6))
  told.answer = undefined
  await bank.venue.leap(60_000)
  const other = await Owner.funded(bank, 200_000_000)
  const second = await offered(bank, other)
  told.answer = failure(401, "NA", 6)
  told.isAtAll = true
  await bank.venue.leap(20_000)
  const before = lines().length
  expect((await other.ask("DELETE", `/v1/accounts/{account}/deposits/${second}`)).json).toMatchObject({ status: "rejected" })
  await bank.venue.leap(600_000, 60_000)
  expect(await details(bank)).toMatchObject({ ledger: "the ledger: the ledger refused: NA: the cause of NA", openTransfers: 1 })
  expect(bank.said.filter((line) => line.includes("completions cannot be read"))).toHaveLength(1)
  expect(lines()).toHaveLength(before)
  expect(bank.said.filter((line) => line.includes(`${second} does not go on`))).toEqual([])
  await bank.venue.stop()
})

test("what the ledger refuses an owner is logged again where it comes back, and not for as long as it lasts", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  const id = await owner.request("withdrawal", 10_000_000, await owner.party)
  const told = await unpreparing(bank, failure(403, "NA", 7))
  await bank.venue.leap(10_000)
  const initiate = () => owner.ask("POST", "/v1/accounts/{account}/withdrawals/confirm", { action: "initiate", withdrawalId: id })
  const lines = () => bank.said.filter((line) => line.includes(`${id} does not go on`))
  for (let times = 0; times < 3; times++) {
    expect(await initiate()).toMatchObject({ status: 503 })
    await bank.venue.leap(60_000)
  }
  expect(lines()).toHaveLength(1)
  told.answer = undefined
  expect((await initiate()).json).toMatchObject({ status: "approval_required" })
  // What was prepared is over, and has to be prepared again.
  await bank.venue.leap(1_200_000, 5_000)
  told.answer = failure(403, "NA", 7)
  expect(await initiate()).toMatchObject({ status: 503 })
  expect(lines()).toHaveLength(2)
  await bank.venue.stop()
})

test("a transfer that has gone on by what the ledger told does not wait for the operator any more", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  await bank.script([
    { on: "execute", step: "treasury_offer", skip: 0, times: 1, fault: { name: "complete_after", afterMs: 90_000 } },
    {
      on: "execute",
      step: "treasury_offer",
      skip: 0,
      times: 1,
      fault: { name: "refuse", code: "INVALID_DEDUPLICATION_PERIOD", cause: "too far back" }
    }
  ])
  const id = await offered(bank, owner)
  await bank.venue.leap(30_000)
  expect(await details(bank)).toMatchObject({ transfersForTheOperator: `${id}: deduplication_period` })
  await bank.venue.leap(120_000)
  expect(await owner.must("GET", `/v1/accounts/{account}/deposits/${id}`)).toMatchObject({ status: "bound" })
  expect(await details(bank)).toMatchObject({ openTransfers: 1, transfersForTheOperator: "" })
  expect((await bank.venue.ask("GET", "/metrics")).json).toContain("venue_stopped_transfers 0\n")
  await bank.venue.stop()
})
