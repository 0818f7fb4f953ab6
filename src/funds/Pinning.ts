/**
 * Keeps what the signer pins and what an account has from crossing: while a key is made of an account, none of its passkeys is removed,
 * and the other way round. Otherwise the signer could pin the very passkey that is gone a moment later, and nobody could approve anything
 * of the account's on the ledger any more.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

export class Pinning {
  /** Accounts that something of the two is done to, each with who waits for it beside whoever does it. */
  private readonly under = new Map<number, { readonly one: Effect.Semaphore; users: number }>()

  /** Does it alone for an account, after whatever else is done to it. */
  alone<A, E, R>(account: number, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return this.using(account, (one) => one.withPermits(1)(work))
  }

  /** Does it unless something else is done to the account; undefined then. */
  unlessUnder<A, E, R>(account: number, work: Effect.Effect<A, E, R>): Effect.Effect<A | undefined, E, R> {
    return this.using(account, (one) => Effect.map(one.withPermitsIfAvailable(1)(work), Option.getOrUndefined))
  }

  private using<A, E, R>(account: number, work: (one: Effect.Semaphore) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const held = this.under.get(account) ?? { one: Effect.unsafeMakeSemaphore(1), users: 0 }
        held.users++
        this.under.set(account, held)
        return held
      }),
      ({ one }) => work(one),
      (held) =>
        Effect.sync(() => {
          if (--held.users === 0) this.under.delete(account)
        })
    )
  }
}
