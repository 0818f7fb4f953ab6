/** Determines the cause of each position change from the preceding events of its record. */
import type { CloseReason } from "./Episodes.js"

/** The last event between two accounts. */
type Passed =
  | {
    readonly _tag: "Traded"
    readonly maker: number
    readonly makerFeeAtoms: number
    readonly takerFeeAtoms: number
    readonly reason: CloseReason
  }
  | { readonly _tag: "TakenOver"; readonly account: number }
  | { readonly _tag: "Deleveraged"; readonly account: number }
  | { readonly _tag: "Settled" }

export class Causes {
  /** Closing orders that the venue has sent in this record, by number. */
  private readonly sent = new Map<number, CloseReason>()
  private passed: Passed = { _tag: "Settled" }

  /** A record begins. */
  begin(): void {
    this.sent.clear()
  }

  sends(orderNumber: number, reason: CloseReason): void {
    this.sent.set(orderNumber, reason)
  }

  traded(takerOrder: number, maker: number, makerFeeAtoms: number, takerFeeAtoms: number): void {
    this.passed = { _tag: "Traded", maker, makerFeeAtoms, takerFeeAtoms, reason: this.sent.get(takerOrder) ?? "user_close" }
  }

  takenOver(account: number): void {
    this.passed = { _tag: "TakenOver", account }
  }

  deleveraged(account: number): void {
    this.passed = { _tag: "Deleveraged", account }
  }

  settled(): void {
    this.passed = { _tag: "Settled" }
  }

  /** The fee of a fill for an account; 0 where no order was filled. */
  feeOf(account: number): number {
    const { passed } = this
    if (passed._tag !== "Traded") return 0
    return account === passed.maker ? passed.makerFeeAtoms : passed.takerFeeAtoms
  }

  /** Why an account's position ended, if it did. */
  reasonOf(account: number): CloseReason {
    const { passed } = this
    switch (passed._tag) {
      case "Traded":
        return account === passed.maker ? "user_close" : passed.reason
      case "TakenOver":
        return account === passed.account ? "liquidation" : "user_close"
      case "Deleveraged":
        return account === passed.account ? "liquidation" : "auto_deleveraged"
      case "Settled":
        return "market_delisted"
    }
  }
}
