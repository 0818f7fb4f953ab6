/** The whole venue answers for deposits, withdrawals and security events that its engine has forgotten as before, byte for byte. */
import { expect, test } from "vitest"
import { defaultOptions } from "../../../src/readmodel/Histories.js"
import { Bank, Owner } from "../../funds/Bank.js"

const minuteMs = 60_000

/** A venue that keeps two ended transfers of an account, and four security events; its histories catch up every `pauseMs`. */
const made = async (pauseMs: number) => {
  const bank = await Bank.open({
    capacity: { orders: 1_000, idempotencyKeys: 1_000, funds: { endedOfAccount: 2 }, identity: { events: 4 } },
    histories: { ...defaultOptions, pauseMs, pauseBehindMs: pauseMs, rollupMs: minuteMs * 60 }
  })
  const owner = await Owner.open(bank)
  const deposit = await owner.request("deposit", 25_000_000)
  await bank.venue.leap(30_000)
  await bank.give(await owner.party, 25_000_000)
  expect(await owner.confirm("deposit", deposit)).toBe("ledger_confirmed")
  const told = new Map<string, string>()
  const look = async (kind: "deposit" | "withdrawal", id: string) => await owner.ask("GET", `/v1/accounts/{account}/${kind}s/${id}`)
  const keep = async (kind: "deposit" | "withdrawal", id: string): Promise<void> => {
    told.set(id, JSON.stringify((await look(kind, id)).json))
  }
  await keep("deposit", deposit)
  /** Requests a withdrawal and cancels it. */
  const giveUp = async (amountAtoms: number): Promise<string> => {
    const id = await owner.request("withdrawal", amountAtoms, `elsewhere::1220${"0".repeat(64)}`)
    expect((await owner.ask("DELETE", `/v1/accounts/{account}/withdrawals/${id}`)).status).toBe(200)
    await keep("withdrawal", id)
    return id
  }
  const withdrawals: Array<string> = []
  for (let amount = 1; amount <= 4; amount++) withdrawals.unshift(await giveUp(amount * 1_000_000))
  return { bank, owner, deposit, withdrawals, told, look }
}

/** The rows of all pages of a list, in order. */
const paged = async (owner: Owner, list: string, rows: string): Promise<ReadonlyArray<any>> => {
  const all: Array<any> = []
  for (let cursor = ""; all.length < 50;) {
    const { json, status } = await owner.ask("GET", `/v1/accounts/{account}/${list}?limit=2${cursor}`)
    expect([status, json.code]).toEqual([200, undefined])
    all.push(...json[rows])
    if (json.nextCursor === null) break
    cursor = `&cursor=${json.nextCursor}`
  }
  return all
}

test("transfers and security events go back to an account's first", async () => {
  const { bank, deposit, look, owner, told, withdrawals } = await made(250)
  await bank.venue.leap(2_000)
  const [newest, , , oldest] = withdrawals
  for (const id of withdrawals) expect(JSON.stringify((await look("withdrawal", id)).json)).toBe(told.get(id))
  expect(JSON.stringify((await look("deposit", deposit)).json)).toBe(told.get(deposit))
  expect((await paged(owner, "withdrawals", "withdrawals")).map((each) => JSON.stringify(each))).toEqual(
    withdrawals.map((id) => told.get(id))
  )
  expect((await paged(owner, "deposits", "deposits")).map((each) => JSON.stringify(each))).toEqual([told.get(deposit)])
  const kinds = (await paged(owner, "security-events", "events")).map(({ kind }) => kind)
  expect(kinds).toEqual([
    ...Array(4).fill("withdrawal_requested"),
    ...Array(3).fill("ledger_step_approved"),
    "account_opened"
  ])
  // An ended transfer stays ended, whether the engine or the histories remember it.
  for (const id of [newest, oldest]) {
    expect(await owner.ask("DELETE", `/v1/accounts/{account}/withdrawals/${id}`)).toMatchObject({
      status: 409,
      json: { code: "deposit_step_conflict" }
    })
    const path = "/v1/accounts/{account}/withdrawals/confirm"
    const initiated = await owner.ask("POST", path, { action: "initiate", withdrawalId: id })
    expect([initiated.json.status, JSON.stringify(initiated.json.withdrawal)]).toEqual(["rejected", told.get(id!)])
    const other = { action: "initiate", withdrawalId: id, signingStep: "treasury_withdrawal" }
    expect((await owner.ask("POST", path, other)).json.code).toBe("deposit_step_conflict")
  }
  const stranger = await Owner.open(bank)
  for (const id of [newest, oldest, "wdr_1"]) {
    expect(await stranger.ask("GET", `/v1/accounts/{account}/withdrawals/${id}`)).toMatchObject({
      status: 404,
      json: { code: "not_found" }
    })
  }
  expect(await owner.ask("GET", "/v1/accounts/{account}/withdrawals/wdr_1")).toMatchObject({ status: 404 })
  // After a restart, what was forgotten before is still read from the histories.
  await bank.restart()
  await bank.venue.leap(2_000)
  expect((await paged(owner, "withdrawals", "withdrawals")).map((each) => JSON.stringify(each))).toEqual(
    withdrawals.map((id) => told.get(id))
  )
  expect((await paged(owner, "security-events", "events")).map(({ kind }) => kind)).toEqual(kinds)
  await bank.venue.stop()
})

test("while the histories lag behind what the engine has forgotten, nothing is left out", async () => {
  const { bank, look, owner, told, withdrawals } = await made(120 * minuteMs)
  const [newest, second, , oldest] = withdrawals
  const lags = { status: 503, json: { code: "dependency_unavailable", dependency: "read_model" } }
  for (const target of ["withdrawals", "deposits", "security-events", `withdrawals/${oldest}`, "withdrawals/wdr_1"]) {
    expect(await owner.ask("GET", `/v1/accounts/{account}/${target}`), target).toMatchObject(lags)
  }
  expect(await owner.ask("DELETE", `/v1/accounts/{account}/withdrawals/${oldest}`)).toMatchObject(lags)
  // What the engine still remembers is answered regardless.
  for (const id of [newest, second]) expect(JSON.stringify((await look("withdrawal", id!)).json)).toBe(told.get(id!))
  const { json: { events } } = await owner.ask("GET", "/v1/accounts/{account}/security-events?limit=2")
  expect(events.map(({ kind }: { readonly kind: string }) => kind)).toEqual(["withdrawal_requested", "withdrawal_requested"])
  await bank.venue.leap(121 * minuteMs)
  expect(JSON.stringify((await look("withdrawal", oldest!)).json)).toBe(told.get(oldest!))
  expect(await paged(owner, "withdrawals", "withdrawals")).toHaveLength(4)
  expect(await paged(owner, "security-events", "events")).toHaveLength(8)
  await bank.venue.stop()
})
