/** An operator's tasks for accounts: demo accounts, credits, flags, cancels. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { OperatorCancel } from "../../edge/operator/cancelByOperator.js"
import { maxDemoAccounts, maxDemoKeySeconds, minDemoKeySeconds } from "../../operations/accounts/OpenDemoAccounts.js"
import { usage } from "../Exit.js"
import * as Format from "../replay/Format.js"
import { against, isDecimal } from "./Against.js"
import * as Operator from "./Operator.js"
import * as Options from "./Options.js"

/** Where there are several requests, a break between two of them would leave accounts whose keys nobody has seen. */
const sayKey = (accounts: number, key: string): Effect.Effect<void> =>
  accounts <= maxDemoAccounts
    ? Effect.void
    : Console.error(
      `opening ${accounts} accounts: should this break off, the same again with --key ${key} goes on and tells all their keys`
    )

/** Opens and funds accounts on a development venue. */
export const demo = (parsed: Options.Of<typeof Options.demo>) =>
  Effect.gen(function*() {
    if (parsed.accounts < 1 || parsed.accounts > Options.mostAccounts) {
      return yield* usage(`--accounts is from 1 to ${Options.mostAccounts}`)
    }
    if (!isDecimal(parsed.collateral)) return yield* usage(`--collateral takes a decimal, and not ${parsed.collateral}`)
    if (parsed.lifetime < minDemoKeySeconds || parsed.lifetime > maxDemoKeySeconds) {
      return yield* usage(`--lifetime is from ${minDemoKeySeconds} to ${maxDemoKeySeconds} seconds`)
    }
    const opened = yield* against(
      parsed,
      (target, key) => Effect.zipRight(sayKey(parsed.accounts, key), Operator.openDemoAccounts(target, key, parsed))
    )
    const until = (expiresAtEpochMs: number | undefined) => expiresAtEpochMs === undefined ? "" : Format.time(expiresAtEpochMs)
    const rows = opened.map(({ accountId, apiKey, expiresAtEpochMs }) => [accountId, apiKey, until(expiresAtEpochMs)])
    yield* Console.log(parsed.json ? JSON.stringify(opened) : Format.table(["account", "api key", "good until"], rows))
  })

/** Credits an account. */
export const credit = (parsed: Options.Of<typeof Options.credit>) =>
  Effect.gen(function*() {
    if (!isDecimal(parsed.amount)) return yield* usage(`--amount takes a decimal, and not ${parsed.amount}`)
    const told = yield* against(parsed, (target, key) => Operator.credit(target, key, parsed.account, parsed.amount))
    yield* Console.log(
      `${told.accountId} has ${told.balance} USDC: sequence ${told.sequence}, ${Format.time(told.decidedAtEpochMs)}`
    )
  })

/** Sets and clears an account's flags. */
export const flags = (parsed: Options.Of<typeof Options.flags>) =>
  Effect.gen(function*() {
    const twice = parsed.set.find((name) => parsed.clear.includes(name))
    if (twice !== undefined) return yield* usage(`${twice} is either set or cleared`)
    if (parsed.set.length + parsed.clear.length === 0) return yield* usage("flags takes --set, --clear or both")
    const wanted = Object.fromEntries([...parsed.set.map((name) => [name, true]), ...parsed.clear.map((name) => [name, false])])
    const told = yield* against(parsed, (target, key) => Operator.setAccountFlags(target, key, parsed.account, wanted))
    yield* Console.log(Format.table(["what", "value"], [
      ["account", told.accountId],
      ...Object.entries(told.flags).map(([name, isSet]) => [name, isSet ? "set" : "not set"]),
      ["may trade", told.mayTrade ? "yes" : "no"]
    ]))
  })

/** Revokes an API key. */
export const revokeKey = (parsed: Options.Of<typeof Options.revokeKey>) =>
  Effect.gen(function*() {
    const { key, sequence } = yield* against(parsed, (target, idempotencyKey) => Operator.revokeKey(target, idempotencyKey, parsed.id))
    const at = key.revokedAtEpochMs === null ? "" : `, revoked at ${Format.time(key.revokedAtEpochMs)}`
    yield* Console.log(`${key.keyId} of ${key.accountId} is ${key.state}${at}: sequence ${sequence}`)
  })

const sayCanceled = (answer: OperatorCancel) =>
  Console.log(
    `${answer.canceledOrders} cancelled, ${answer.remainingOrders} left: sequence ${answer.lastSequence}, ${
      Format.time(answer.decidedAtEpochMs)
    }`
  )

/** Cancels orders of any owner. */
export const cancel = (parsed: Options.Of<typeof Options.cancel>) =>
  Effect.gen(function*() {
    const orderId = Option.getOrUndefined(parsed.order)
    const accountId = Option.getOrUndefined(parsed.account)
    const marketId = Option.getOrUndefined(parsed.market)
    const isSelection = orderId === undefined
      ? accountId !== undefined || marketId !== undefined
      : accountId === undefined && marketId === undefined
    if (!isSelection) return yield* usage("cancel takes --order alone, or --account, --market or both")
    const selection = {
      ...(orderId === undefined ? undefined : { orderId }),
      ...(accountId === undefined ? undefined : { accountId }),
      ...(marketId === undefined ? undefined : { marketId })
    }
    const canceled = yield* against(parsed, (target, key) => Operator.cancel(target, key, selection, sayCanceled))
    yield* Console.log(`${canceled} orders cancelled in all`)
  })
