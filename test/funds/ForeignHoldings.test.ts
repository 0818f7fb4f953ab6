/** What anybody on the ledger can make a treasury hold without its consent: it stops neither withdrawals nor the comparison of books. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import * as Driver from "../../src/funds/Driver.js"
import { setting } from "../../src/ledger/development/Setting.js"
import type { Question, Transport } from "../../src/ledger/Transport.js"
import { Bank, Owner } from "./Bank.js"

const path = "/v1/accounts/{account}/withdrawals/confirm"

interface Asked {
  readonly pageToken?: string
  readonly eventFormat?: {
    readonly filtersByParty: Readonly<
      Record<string, {
        readonly cumulative: ReadonlyArray<
          { readonly identifierFilter: { readonly TemplateFilter: { readonly value: { readonly templateId: string } } } }
        >
      }>
    >
  }
}

/** Parses a question for holdings, if it is about the treasury's. */
const treasuryIn = ({ body }: Question): { readonly party: string; readonly templateId: string; readonly page: number } | undefined => {
  const { eventFormat, pageToken = "0" } = (body ?? {}) as Asked
  const [party, filter] = Object.entries(eventFormat?.filtersByParty ?? {})[0] ?? []
  const templateId = filter?.cumulative[0]!.identifierFilter.TemplateFilter.value.templateId
  return party?.startsWith("treasury::") === true && templateId?.endsWith(":Holding") === true
    ? { party, templateId, page: Number(pageToken) }
    : undefined
}

/** Inserts pages of a kind of holding before the treasury's own. */
const sent =
  (pages: number, of: { readonly amount: string; readonly instrument: string }) => (transport: Transport): Transport => (question) => {
    const asked = treasuryIn(question)
    if (asked === undefined) return transport(question)
    const { page, party, templateId } = asked
    if (page >= pages) return transport({ ...question, body: { ...question.body as object, pageToken: undefined } })
    const createArgument = { admin: setting.token.admin, owner: party, ...of }
    const activeContracts = Array.from({ length: 200 }, (_, at) => ({
      contractEntry: { JsActiveContract: { createdEvent: { contractId: `00${page}_${at}`, templateId, createArgument } } }
    }))
    return Effect.succeed({ status: 200, body: { activeContracts, nextPageToken: String(page + 1) } })
  }

const paysOut = async (way: (transport: Transport) => Transport) => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 25_000_000)
  await bank.restartOver(way)
  const withdrawalId = await owner.request("withdrawal", 10_000_000, await owner.party)
  const begun = await owner.must("POST", path, { action: "initiate", withdrawalId })
  expect(begun).toMatchObject({ status: "approval_required" })
  expect(await owner.confirm("withdrawal", withdrawalId)).toBe("ledger_confirmed")
  const books = await bank.reconcile()
  const metrics: string = (await bank.venue.ask("GET", "/metrics")).json
  await bank.venue.stop()
  return { books, metrics }
}

test("holdings that are finer than an atom are not spent, and count rounded down", async () => {
  const { books, metrics } = await paysOut(sent(1, { amount: "0.0000015", instrument: setting.token.id }))
  expect(books).toMatchObject({ heldAtoms: "15000200", owedAtoms: "15000000", withdrawalsStopped: false })
  expect(metrics).toContain("venue_treasury_holdings 1\n")
  expect(metrics).toContain("venue_treasury_contracts 201\n")
})

test("more holdings of another asset than can be spent of the settlement asset are passed over, and counted", async () => {
  const { books, metrics } = await paysOut(sent(60, { amount: "1.0", instrument: "another" }))
  expect(books).toMatchObject({ heldAtoms: "15000000", unattributedAtoms: "0", withdrawalsStopped: false })
  expect(metrics).toContain("venue_treasury_holdings 1\n")
  expect(metrics).toContain("venue_treasury_contracts 12001\n")
})

test("a comparison that does not come to an end is told of while it lasts, whatever an operator compares beside it", async () => {
  const bank = await Bank.open({ funds: { reconcileMs: 10_000, driver: { ...Driver.defaults, busyMs: 4_000, idleMs: 20_000 } } })
  let asked = 0
  await bank.restartOver((transport) => (question) =>
    question.path.includes("active-contracts") && ++asked === 1 ? Effect.delay(transport(question), 80_000) : transport(question)
  )
  const told = async (ms: number) => {
    await bank.venue.leap(ms)
    const { details } = (await bank.venue.ask("GET", "/readyz")).json
    const metrics: string = (await bank.venue.ask("GET", "/metrics")).json
    return [/^venue_reconciliation_failing (.*)$/m.exec(metrics)?.[1], details.reconciliationTrouble?.replace(/\d+/, "some")]
  }
  expect(await told(30_000)).toEqual(["0", undefined])
  const lasts = ["1", "the comparison that is being made has lasted for some s"]
  expect(await told(45_000)).toEqual(lasts)
  expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0" })
  expect(await told(1_000)).toEqual(lasts)
  expect(await told(30_000)).toEqual(["0", undefined])
  await bank.venue.stop()
})

test("books that cannot be compared any more are told of, and the last comparison does not pass for one of now", async () => {
  const bank = await Bank.open({ funds: { reconcileMs: 10_000, driver: { ...Driver.defaults, busyMs: 4_000, idleMs: 20_000 } } })
  const standing = async () => {
    await bank.venue.leap(30_000)
    const { details } = (await bank.venue.ask("GET", "/readyz")).json
    const metrics: string = (await bank.venue.ask("GET", "/metrics")).json
    return { details, failing: /^venue_reconciliation_failing (.*)$/m.exec(metrics)?.[1] }
  }
  const before = await standing()
  expect([before.failing, before.details.reconciliationTrouble]).toEqual(["0", undefined])
  expect(before.details.reconciliation).toMatch(/^agrees/)
  await bank.restartOver(sent(60, { amount: "0.000001", instrument: setting.token.id }))
  const crowded = await standing()
  expect([crowded.failing, typeof crowded.details.reconciliationTrouble]).toEqual(["1", "string"])
  await bank.restartOver((transport) => transport)
  expect((await standing()).failing).toBe("0")
  await bank.venue.stop()
})

test("how long ago the books were compared is told in milliseconds, and not before they were", async () => {
  const bank = await Bank.open({ funds: { reconcileMs: 0, driver: { ...Driver.defaults, busyMs: 4_000, idleMs: 20_000 } } })
  const age = async (): Promise<number | undefined> => {
    // For less than a second the same text is told again.
    await bank.venue.leap(1_000)
    const metrics: string = (await bank.venue.ask("GET", "/metrics")).json
    const told = /^venue_reconciliation_age_ms (.*)$/m.exec(metrics)?.[1]
    return told === undefined ? undefined : Number(told)
  }
  expect(await age()).toBeUndefined()
  await bank.reconcile()
  expect(await age()).toBeLessThan(2_000)
  await bank.venue.leap(30_000)
  expect(await age()).toBeGreaterThanOrEqual(30_000)
  await bank.reconcile()
  expect(await age()).toBeLessThan(2_000)
  await bank.venue.stop()
})
