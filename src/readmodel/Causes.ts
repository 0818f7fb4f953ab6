/** Where changes of positions come from: what the events of a record said before each of them. */
import type { CloseReason } from "./Episodes.js"

/** What passed last between two accounts. */
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
  /** Orders that the venue sent in this record to close something, by number. */
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

  /** What a fill cost an account; nothing where no order filled. */
  feeOf(account: number): number {
    const { passed } = this
    if (passed._tag !== "Traded") return 0
    return account === passed.maker ? passed.makerFeeAtoms : passed.takerFeeAtoms
  }

  /** Why an account's position ends by it, if it does. */
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
