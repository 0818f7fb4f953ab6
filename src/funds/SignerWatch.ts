/**
 * Asks the signer now and then for the treasury's key, which changes nothing there and takes the venue's token: a signer that ends, or is
 * started with another token or directory, is otherwise met by the next transfer alone, and told to its owner alone.
 */
import * as Effect from "effect/Effect"
import type { Driver } from "./Driver.js"
import { ofKnown, type Parts } from "./Parts.js"
import { Unreachable } from "./Trouble.js"

type Watched = Pick<Driver, "treasuryKeyId" | "signerTrouble" | "signerIsBack">

export class SignerWatch {
  /** Why the signer did not answer when it was asked last; undefined where it did. */
  private unanswered: Unreachable | undefined
  /** What the log said last. */
  private said: string | undefined

  constructor(private readonly parts: Pick<Parts, "signer">, private readonly driver: Watched) {}

  /** Why the signer cannot be used: by its last answer, or by the last attempt of a transfer. Undefined while it can. */
  get trouble(): Unreachable | undefined {
    return this.unanswered ?? this.driver.signerTrouble
  }

  /** Asks once, and logs where the trouble is another than before, or over. Before the venue is bound the driver itself asks. */
  readonly look: Effect.Effect<void> = Effect.suspend(() => {
    const expected = this.driver.treasuryKeyId
    if (expected === undefined) return Effect.void
    return ofKnown(this.parts.signer.knownTreasuryKey).pipe(
      Effect.filterOrFail(({ keyId }) => keyId === expected, () =>
        new Unreachable({
          whom: "signer",
          detail: "it has another treasury key than when this process began: its directory was replaced"
        })),
      Effect.matchEffect({
        onFailure: (trouble) => this.came(trouble),
        onSuccess: () => this.came(undefined)
      })
    )
  })

  private came(unanswered: Unreachable | undefined): Effect.Effect<void> {
    const isBack = this.unanswered !== undefined && unanswered === undefined
    this.unanswered = unanswered
    return Effect.zipRight(isBack ? this.driver.signerIsBack : Effect.void, this.tell)
  }

  private readonly tell: Effect.Effect<void> = Effect.suspend(() => {
    const message = this.trouble?.message
    if (message === this.said) return Effect.void
    this.said = message
    return message === undefined
      ? Effect.logInfo("the signer answers again")
      : Effect.logWarning(`deposits and withdrawals wait: ${message}`)
  })
}
