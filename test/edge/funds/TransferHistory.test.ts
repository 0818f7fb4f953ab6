/** Pages and look-ups of transfers that the engine keeps or only the histories have, compared with all there were. */
import { Effect, Either } from "effect"
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { findTransfer, shownOf, transfersBefore } from "../../../src/edge/funds/TransferHistory.js"
import type { Shown } from "../../../src/edge/funds/TransferRecord.js"
import type * as Errors from "../../../src/edge/http/Errors.js"
import { decodeTold, type ToldTransfer } from "../../../src/engine/EventLog.js"
import { Engine } from "../../../src/engine/Engine.js"
import type { TransferView } from "../../../src/engine/Reads.js"
import * as Snapshot from "../../../src/engine/Snapshot.js"
import type { TransferKind } from "../../../src/operations/funds/Transfers.js"
import * as TransferTables from "../../../src/readmodel/TransferTables.js"
import type { AnyGiven } from "../../engine/commands.js"
import { FundsDriver, type Owner } from "../../engine/FundsDriver.js"
import { withRows, written } from "../HistoriesOfRows.js"

const usdc = (amount: number) => amount * 1_000_000
const kinds: ReadonlyArray<TransferKind> = ["deposit", "withdrawal", "party_change"]

/** A driver that keeps what each record told, and the latest form of each transfer. */
class Watched extends FundsDriver {
  readonly told: Array<readonly [sequence: number, row: ToldTransfer]> = []
  readonly ever = new Map<number, Shown>()

  override send(given: AnyGiven) {
    const outcome = super.send(given)
    const { engine: { state, state: { events } } } = this
    for (const row of decodeTold(events.told.copied()).transfers) this.told.push([state.sequence, row])
    events.clear()
    for (const account of this.accounts) {
      for (const kind of kinds) {
        for (const view of this.engine.transfersOf(account, kind, Infinity, Infinity)) this.ever.set(view.number, told(view))
      }
    }
    return outcome
  }

  get accounts(): ReadonlyArray<number> {
    return Array.from({ length: this.engine.occupancy.accounts }, (_, account) => account)
  }
}

/** The members of a transfer that are shown. */
const told = (transfer: Shown | TransferView): Shown => ({
  number: transfer.number,
  kind: transfer.kind,
  account: transfer.account,
  id: transfer.id,
  partyId: transfer.partyId,
  amountAtoms: transfer.amountAtoms,
  failure: transfer.failure === null ? null : { stage: transfer.failure.stage },
  status: transfer.status,
  ledgerOutcome: transfer.ledgerOutcome,
  requestedAtEpochMs: transfer.requestedAtEpochMs,
  updatedAtEpochMs: transfer.updatedAtEpochMs,
  steps: transfer.steps.map(({ name }) => ({ name }))
})

const act = fc.record({
  owner: fc.nat(2),
  what: fc.constantFrom("deposit", "offered", "given_up", "withdrawal", "held", "finish_open", "party", "late")
})

const run = fc.record({
  acts: fc.array(act, { minLength: 8, maxLength: 24 }),
  endedOfAccount: fc.integer({ min: 1, max: 5 }),
  endedInAll: fc.integer({ min: 1, max: 9 }),
  /** The part of the records, in percent, by which the histories lag. */
  behind: fc.constantFrom(0, 0, 0, 10, 30, 60),
  restores: fc.boolean(),
  limit: fc.integer({ min: 1, max: 4 })
})

const perform = (driver: Watched, owner: Owner, what: string): void => {
  const open = driver.engine.openTransfersOf(owner.account)
  const last = [...driver.ever.values()].filter(({ account, kind }) => account === owner.account && kind === "deposit").at(-1)
  const giveUp = (number: number) => driver.refusal({ kind: "CancelTransfer", ...driver.by(owner), transfer: number })
  switch (what) {
    case "deposit":
    case "offered":
    case "given_up": {
      if (open.some(({ kind }) => kind !== "withdrawal")) return
      const number = driver.deposit(owner, usdc(2))
      if (what === "deposit") return driver.finish(owner, number)
      if (what === "offered") driver.finishStep(owner, number)
      return void giveUp(number)
    }
    case "withdrawal":
    case "held": {
      if (open.length > 2 || open.some(({ kind }) => kind === "party_change")) return
      const number = driver.withdrawal(owner, usdc(1))
      return what === "held" ? undefined : driver.finish(owner, number)
    }
    case "finish_open":
      for (const { kind, number } of open) if (kind === "withdrawal") driver.finish(owner, number)
      return
    case "party":
      if (open.length === 0) giveUp(driver.partyChange(owner))
      return
    default: {
      // The ledger carries out a transfer that had been given up, or repeats its message: the transfer is needed or told anew.
      const kept = last === undefined ? undefined : driver.engine.transfer(last.number)
      const step = kept?.steps.at(-1)?.name
      if (kept === undefined || step === undefined || kept.end === null) return
      driver.complete(kept.number, step, `late-${kept.number}`)
      const hand = driver.engine.transfer(kept.number)?.stepAtHand
      if (hand !== undefined) driver.finishStep(owner, kept.number)
    }
  }
}

type Page = Either.Either<ReadonlyArray<Shown>, Errors.Failure>

test("each transfer is told once, in its order and as it was last, or nothing is, while the histories may lack one", () => {
  let [refused, forgotten, whole] = [0, 0, 0]
  fc.assert(
    fc.property(run, ({ acts, behind, endedInAll, endedOfAccount, limit, restores }) => {
      const driver = new Watched({ endedInAll, endedOfAccount })
      const owners = [driver.funded(usdc(50)), driver.funded(usdc(50)), driver.funded(usdc(50))]
      for (const { owner, what } of acts) perform(driver, owners[owner]!, what)
      const last = driver.engine.sequence
      const known = last - Math.floor(last * behind / 100)
      const engine = restores ? restored(driver.engine) : driver.engine
      withRows((sql, at) => {
        written(sql, TransferTables.write(sql, driver.told.filter(([sequence]) => sequence <= known).map(([, row]) => row)))
        const services = { histories: at({ sequence: known }), state: engine }
        const mayLack = known < engine.forgottenTransfers(0).bySequence
        const expectPage = (page: Page, expected: ReadonlyArray<Shown>): boolean => {
          if (Either.isLeft(page)) {
            refused++
            expect([mayLack, page.left.description.name]).toEqual([true, "HistoriesUnavailable"])
            return false
          }
          expect(page.right).toEqual(expected)
          return true
        }
        for (const { account } of owners) {
          for (const kind of kinds) {
            const ever = [...driver.ever.values()]
              .filter((each) => each.account === account && each.kind === kind)
              .sort((one, other) => other.number - one.number)
            for (let from = 0; from === 0 || from < ever.length; from += limit) {
              const before = ever[from - 1]?.number ?? Infinity
              const page: Page = Effect.runSync(
                Effect.either(transfersBefore(services, { account, kind, before, limit }, (rows) => rows.map(shownOf).map(told)))
              )
              if (expectPage(page, ever.slice(from, from + limit))) whole++
            }
            for (const each of ever) {
              const isKept = engine.transfer(each.number) !== undefined
              if (!isKept) forgotten++
              const find = (who: number, number: number): Page =>
                Effect.runSync(
                  Effect.either(
                    Effect.map(findTransfer(services, who, kind, number), (found) => found === undefined ? [] : [told(shownOf(found))])
                  )
                )
              // A transfer that the histories have is found, however far behind they are.
              if (isKept) expect(Either.getOrThrow(find(account, each.number))).toEqual([each])
              else expectPage(find(account, each.number), [each])
              expectPage(find(owners.find((other) => other.account !== account)!.account, each.number), [])
              expectPage(find(account, each.number + 1), [])
            }
          }
        }
      })
    }),
    { numRuns: 10, seed: 8 }
  )
  expect([refused > 10, forgotten > 30, whole > 30]).toEqual([true, true, true])
})

/** The same engine restored from a snapshot, which lacks what was forgotten. */
const restored = ({ state }: Engine): Engine => new Engine(Snapshot.unsafeDecode(Snapshot.encode(state), state.capacity))
