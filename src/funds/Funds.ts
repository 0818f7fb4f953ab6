/**
 * Money on the ledger as the rest of the venue sees it: requests to the driver, challenges to owners, and the status of the ledger,
 * the driver and reconciliation.
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { unattended } from "../domain/Unattended.js"
import type { SecureRandom } from "../identity/SecureRandom.js"
import { mostContracts, mostHoldings } from "../ledger/Ledger.js"
import type { StepName } from "../operations/funds/Transfers.js"
import type { AccountKeys, Change, Passkey, Repin } from "../signer/Requests.js"
import type { SignerError } from "../signer/PartySigner.js"
import { Approvals } from "./Approvals.js"
import { defaults, Driver, type Options as DriverOptions, type StoppedTransfer } from "./Driver.js"
import { ofLedger, type Parts } from "./Parts.js"
import { Pinning } from "./Pinning.js"
import { reconcile, type Report } from "./Reconciliation.js"
import { SignerWatch } from "./SignerWatch.js"
import { type Trouble, Unreachable } from "./Trouble.js"

/** The step that an owner was asked to approve, with its prepared transaction. */
export interface StepQuestion {
  readonly transfer: number
  readonly step: StepName
  readonly hash: string
}

/** The change of pinned passkeys that an owner was asked to approve. */
export interface PinsQuestion {
  readonly accountId: string
  readonly change: Change
  readonly passkey: Passkey
  readonly revision: number
}

/** The status of all this. */
export interface Standing {
  /**
   * Why the ledger's completions cannot be read, or why the signer cannot be used, as far as it was asked; undefined while both answer.
   */
  readonly trouble: string | undefined
  /** Transfers that wait for an operator. */
  readonly stopped: ReadonlyArray<StoppedTransfer>
  readonly unknownCompletions: number
  /** Offsets of the ledger that have not been read yet. */
  readonly offsetLag: number
  /** Challenges to owners that are open, or whose answer is being decided. */
  readonly openQuestions: number
  /** The venue's party on the ledger; undefined until the ledger and the signer were reached once. */
  readonly treasury: string | undefined
  /** The last completed reconciliation. */
  readonly report: Report | undefined
  /** Why the last attempt to reconcile failed, or how long the present one has lasted if that is too long; otherwise undefined. */
  readonly uncompared: string | undefined
}

export class Funds extends Context.Tag("venue/funds/Funds")<Funds, {
  /** Works on a transfer whose owner is present, for a limited time; fails with what prevents it. */
  readonly ask: (transfer: number) => Effect.Effect<void, Trouble>
  readonly steps: Approvals<StepQuestion>
  readonly pins: Approvals<PinsQuestion>
  /** The signer's keys of an account; undefined where there are none. */
  readonly accountKeys: (accountId: string) => Effect.Effect<AccountKeys | undefined, Unreachable>
  /** Accounts whose passkeys are about to be pinned or removed. */
  readonly pinning: Pinning
  /** Changes the passkeys that an account has pinned. */
  readonly repin: (request: Repin) => Effect.Effect<void, SignerError>
  /** Compares the books with the ledger now. */
  readonly reconcile: Effect.Effect<Report, Trouble>
  /**
   * Counts how often operators have stopped withdrawals since the process began. A stop where they are stopped already changes nothing in
   * the venue's state, and yet whoever lets them go on meanwhile has to know of it.
   */
  readonly stops: { count: number }
  /** Mints the settlement asset for a party; undefined except on a development ledger. */
  readonly give: ((party: string, amountAtoms: number) => Effect.Effect<void, Unreachable>) | undefined
  readonly standing: () => Standing
}>() {}

export interface Options {
  readonly driver: DriverOptions
  /** Interval of reconciliations, in ms; 0 for none unless requested. */
  readonly reconcileMs: number
  /** Interval in which the signer is asked whether it answers, in ms; 0 for never. */
  readonly signerMs: number
}

export const defaultOptions: Options = { driver: defaults, reconcileMs: 60_000, signerMs: 10_000 }

/** Used before the venue has started, and where nothing drives the ledger. */
export const none = (random: Context.Tag.Service<SecureRandom>): Funds["Type"] => {
  const unreachable = new Unreachable({ whom: "ledger", detail: "nothing drives the ledger here" })
  return {
    ask: () => Effect.fail(unreachable),
    steps: new Approvals<StepQuestion>(random),
    pins: new Approvals<PinsQuestion>(random),
    accountKeys: () => Effect.fail(unreachable),
    pinning: new Pinning(),
    repin: () => Effect.die("nothing can be asked of the signer here"),
    reconcile: Effect.fail(unreachable),
    stops: { count: 0 },
    give: undefined,
    standing: () => ({
      trouble: unreachable.detail,
      stopped: [],
      unknownCompletions: 0,
      offsetLag: 0,
      openQuestions: 0,
      treasury: undefined,
      report: undefined,
      uncompared: undefined
    })
  }
}

/**
 * The service that drives the ledger, with the loops that do so while they run. Each must be a fiber of its own: loops joined into
 * one Effect were seen not to end when they were interrupted between two steps of joining.
 */
export interface Driven {
  readonly funds: Funds["Type"]
  readonly loops: ReadonlyArray<Effect.Effect<never>>
}

/** After how long a comparison is told not to come to an end, in seconds: money is safe only as long as the books are compared. */
const mostSeconds = 60

export const make = (parts: Parts, scope: Scope.Scope, options: Options = defaultOptions): Driven => {
  const { faucet, pinning, random, signer } = parts
  const driver = new Driver(parts, scope, options.driver)
  const steps = new Approvals<StepQuestion>(random)
  const pins = new Approvals<PinsQuestion>(random)
  const last: { report: Report | undefined } = { report: undefined }
  /** What prevents a reconciliation, as logged, and in one line. */
  let inTheWay: { readonly said: string; readonly inShort: string } | undefined
  /** The automatic comparison that is being made, by a clock that nobody sets; undefined where none is. */
  let underWay: { readonly clock: Clock.Clock; readonly sinceNanos: bigint } | undefined
  const reconciled = Effect.tap(reconcile(parts, driver), (report) =>
    Effect.suspend(() => {
      const before = last.report?.differenceAtoms ?? 0n
      last.report = report
      inTheWay = undefined
      if (report.differenceAtoms === before) return Effect.void
      return report.differenceAtoms === 0n
        ? Effect.logInfo(`the treasury holds what the journal says, at offset ${report.atOffset}`)
        : Effect.logWarning(`the treasury holds ${report.differenceAtoms} atoms beside the journal, at offset ${report.atOffset}`)
    }))
  const compared = Effect.tap(reconciled, ({ pieces, seen }) => {
    if (pieces * 10 < mostHoldings * 8 && seen * 10 < mostContracts * 8) return Effect.void
    const most = `of more than ${mostHoldings} or ${mostContracts} neither books nor withdrawals can be made`
    return Effect.logWarning(`the treasury has ${pieces} holdings of the settlement asset and sees ${seen} of any: ${most}`)
  })
  /** A problem is logged once, as long as it stays the same. */
  const uncompared = (cause: Cause.Cause<Trouble>): Effect.Effect<void> => {
    if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
    const said = Cause.pretty(cause)
    if (said === inTheWay?.said) return Effect.void
    const error = Cause.squash(cause)
    inTheWay = { said, inShort: error instanceof Error ? error.message : String(error) }
    return Effect.logWarning("the books could not be compared with the ledger", cause)
  }
  const begun = Effect.clockWith((clock) => {
    underWay = { clock, sinceNanos: clock.unsafeCurrentTimeNanos() }
    // One that an operator asks for beside it says nothing of this one.
    return Effect.ensuring(Effect.catchAllCause(compared, uncompared), Effect.sync(() => {
      underWay = undefined
    }))
  })
  const lasts = (): string | undefined => {
    if (underWay === undefined) return undefined
    const seconds = Number((underWay.clock.unsafeCurrentTimeNanos() - underWay.sinceNanos) / 1_000_000_000n)
    return seconds < mostSeconds ? undefined : `the comparison that is being made has lasted for ${seconds} s`
  }
  const watched = Effect.forever(Effect.zipRight(Effect.sleep(options.reconcileMs), begun))
  const signerWatch = new SignerWatch(parts, driver)
  const asked = Effect.forever(Effect.zipRight(Effect.sleep(options.signerMs), unattended("the watch of the signer", signerWatch.look)))
  return {
    funds: {
      ask: (transfer) => driver.ask(transfer),
      steps,
      pins,
      accountKeys: (accountId) =>
        signer.accountKeys(accountId).pipe(
          Effect.catchTag("SignerRefused", () => Effect.succeed(undefined)),
          Effect.mapError((error) => new Unreachable({ whom: "signer", detail: error.message }))
        ),
      pinning,
      repin: (request) => signer.repin(request),
      reconcile: reconciled,
      stops: { count: 0 },
      give: faucet === undefined ? undefined : (party, amountAtoms) => Effect.mapError(faucet.give(party, amountAtoms), ofLedger),
      standing: () => ({
        trouble: (driver.trouble ?? driver.refusal ?? signerWatch.trouble)?.message,
        stopped: driver.stopped,
        unknownCompletions: driver.unknownCompletions,
        offsetLag: driver.offsetLag,
        openQuestions: steps.count + pins.count,
        treasury: driver.treasury,
        report: last.report,
        uncompared: inTheWay?.inShort ?? lasts()
      })
    },
    loops: [...driver.loops, ...options.reconcileMs === 0 ? [] : [watched], ...options.signerMs === 0 ? [] : [asked]]
  }
}
