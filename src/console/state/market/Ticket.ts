/** The order being entered: its expected effect, sending it, and its outcome. */
import { computed, signal } from "@preact/signals-core"
import type { NewOrder } from "../../../client/venue/Client.js"
import type { Client } from "../Client.js"
import type * as Contract from "../Contract.js"
import { type Failure, hasFailed, type Result } from "../Failure.js"
import type { Outside } from "../Outside.js"
import { Reading, Task } from "../Task.js"
import { Turns } from "../Turns.js"
import { decimal, words } from "../Words.js"
import type { Commands, NamedOrder } from "./Commands.js"
import { checked, type Draft, emptyDraft, type Fault, type Field, suggested, type Terms } from "./Draft.js"

/** How long the input must rest before the venue is asked for the order's expected effect, in milliseconds. */
const restMs = 300

/** The venue's decision on an order, in words. */
export const told = (
  { averageFillPrice, cancelReason, canceledQuantity, filledQuantity, price, remainingQuantity, side }: Contract.Order
): string => {
  const isSome = (quantity: string): boolean => /[1-9]/.test(quantity)
  const parts = [
    isSome(filledQuantity) && `${side === "buy" ? "Bought" : "Sold"} ${decimal(filledQuantity)}`
      + `${averageFillPrice === undefined ? "" : ` at ${decimal(averageFillPrice)} on average`}.`,
    isSome(remainingQuantity) && `${decimal(remainingQuantity)} rests in the book${price === undefined ? "" : ` at ${decimal(price)}`}.`,
    isSome(canceledQuantity) && `${decimal(canceledQuantity)} was cancelled${cancelReason === undefined ? "" : `: ${words(cancelReason)}`}.`
  ]
  return parts.filter((part) => part !== false).join(" ")
}

/** An order, the key under which it is sent, and when it was first sent. */
interface Open {
  readonly order: NamedOrder
  readonly key: string
  readonly sentAtEpochMs: number
}

/** What the venue said that an order would come to, with the order as it was asked about. */
interface Expected {
  readonly of: string
  readonly preview: Contract.Preview
}

export class Ticket {
  readonly draft = signal<Draft>(emptyDraft)
  /** Whether sending was attempted with the present input: from then on missing fields are reported, too. */
  readonly isTried = signal(false)
  /** The last expected effect that was read; `expected` says whether it is of the present input. */
  readonly preview
  readonly sending = new Task()
  /** The outcome of the last order. */
  readonly outcome = signal<string | undefined>(undefined)
  private readonly terms = signal<Terms | undefined>(undefined)
  private readonly checked = computed(() => this.terms.value === undefined ? undefined : checked(this.draft.value, this.terms.value))
  /** For each account, the order whose outcome is still unknown, with its key: it is kept beyond the session that sent it. */
  private readonly open = signal<ReadonlyMap<string, Open>>(new Map())
  private readonly turns = new Turns()
  private cancelPreview: () => void = () => {}

  constructor(
    private readonly client: Client,
    private readonly commands: Commands,
    private readonly outside: Pick<Outside, "nextKey" | "now" | "venue">,
    private readonly accountId: () => string,
    private readonly placed: () => void
  ) {
    this.preview = new Reading(() => this.previewed())
  }

  /** The errors of the input that are to be shown. */
  get faults(): ReadonlyArray<Fault> {
    const found = this.checked.value
    if (found === undefined || !("faults" in found)) return []
    return this.isTried.value ? found.faults : found.faults.filter(({ isMissing }) => !isMissing)
  }

  /** Whether the input is an order that can be sent. */
  get isWhole(): boolean {
    return this.order !== undefined
  }

  /** The expected effect of the input as it is now: what was read of another order is never shown beside this one. */
  get expected(): Contract.Preview | undefined {
    const { ordered, preview: { value: { value: last } } } = this
    return last !== undefined && last.of === ordered ? last.preview : undefined
  }

  /** The last order, if its outcome has to be found out before another one is sent. */
  get unknown(): NewOrder | undefined {
    return this.open.value.get(this.accountId())?.order
  }

  /** The value that a refusal of the order would have accepted. */
  suggestion(failure: Pick<Failure, "guard" | "nearest">): { readonly field: Field; readonly text: string } | undefined {
    return suggested(failure, this.draft.value)
  }

  /** Sets the market's terms; another market starts with an empty form. An order with an unknown outcome is kept. */
  about(terms: Terms | undefined): void {
    if (terms?.marketId !== this.terms.value?.marketId) this.empty()
    const before = this.ordered
    this.terms.value = terms
    if (this.ordered !== before) this.ask()
  }

  /** Updates the input, and asks for the order's expected effect once the input rests. */
  enter(change: Partial<Draft>): void {
    this.draft.value = { ...this.draft.value, ...change }
    this.sending.clear()
    this.outcome.value = undefined
    this.ask()
  }

  /** Asks for the expected effect, if the input is an order. */
  ask(): void {
    this.cancelPreview()
    // What was read, failed or is being read of another order says nothing of this one.
    if (this.expected === undefined) this.preview.clear()
    if (!this.isWhole) return
    this.cancelPreview = this.outside.venue.platform.after(restMs, () => void this.preview.load())
  }

  /** Sends the order, or asks again for the last one where its outcome is unknown. Returns whether an order was accepted. */
  async submit(): Promise<boolean> {
    this.isTried.value = true
    const found = this.checked.value
    const accountId = this.accountId()
    const goesOn = this.turns.now
    const known = this.open.value.get(accountId)
    if (this.sending.isBusy.value || (known === undefined && (found === undefined || "faults" in found))) return false
    this.outcome.value = undefined
    const open = known ?? {
      // The order's clientOrderId is part of the body to which the key belongs.
      order: { ...(found as { readonly order: NewOrder }).order, clientOrderId: this.outside.nextKey() },
      key: this.outside.nextKey(),
      sentAtEpochMs: this.outside.now()
    }
    this.open.value = new Map([...this.open.value, [accountId, open]])
    const placed = await this.sending.run(() => this.commands.place(open.order, { ...open, isNew: known === undefined }))
    if (this.sending.failure.value?.again !== true) this.open.value = new Map([...this.open.value].filter(([of]) => of !== accountId))
    // If the user has signed out meanwhile, nothing is shown or read.
    if (!goesOn()) {
      this.sending.clear()
      return placed !== undefined
    }
    this.placed()
    if (placed === undefined) return false
    this.outcome.value = told(placed)
    this.isTried.value = false
    this.draft.value = { ...this.draft.value, quantity: "", takeProfit: "", stopLoss: "" }
    this.cancelPreview()
    this.preview.clear()
    return true
  }

  /** Clears the input, but keeps an order with an unknown outcome, which may be in the book. */
  clear(): void {
    this.turns.next()
    this.empty()
    this.terms.value = undefined
  }

  private empty(): void {
    this.cancelPreview()
    this.preview.clear()
    this.sending.clear()
    this.draft.value = emptyDraft
    this.isTried.value = false
    this.outcome.value = undefined
  }

  /** The order in the input; undefined where the input is none. */
  private get order(): NewOrder | undefined {
    const found = this.checked.value
    return found !== undefined && "order" in found ? found.order : undefined
  }

  /** That order in a form that can be compared. */
  private get ordered(): string | undefined {
    const { order } = this
    return order === undefined ? undefined : JSON.stringify(order)
  }

  private async previewed(): Promise<Result<Expected | undefined>> {
    const { order, ordered: of } = this
    // The input has changed since: another preview follows.
    if (order === undefined || of === undefined) return { value: undefined }
    const answer = await this.client.preview({ accountId: this.accountId(), clientOrderId: "preview", ...order })
    return hasFailed(answer) ? answer : { value: { of, preview: answer.value } }
  }
}
