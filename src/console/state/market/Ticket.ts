/** An order that is being entered: what it would come to, its sending, and what became of it. */
import { computed, signal } from "@preact/signals-core"
import type { NewOrder } from "../../../client/venue/Client.js"
import type * as Contract from "../Contract.js"
import { type Failure, hasFailed } from "../Failure.js"
import type { Outside } from "../Outside.js"
import { Reading, Task } from "../Task.js"
import { Turns } from "../Turns.js"
import { decimal, words } from "../Words.js"
import type { Client } from "../Client.js"
import type { Commands, NamedOrder } from "./Commands.js"
import { checked, type Draft, emptyDraft, type Fault, type Field, suggested, type Terms } from "./Draft.js"

/** How long nothing is typed before the venue is asked what the order would come to. */
const restMs = 300

/** An order as the venue has decided it, in words. */
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

/** An order, the key that it is sent under, and when it was first sent. */
interface Open {
  readonly order: NamedOrder
  readonly key: string
  readonly sentAtEpochMs: number
}

export class Ticket {
  readonly draft = signal<Draft>(emptyDraft)
  /** Whether it was to be sent as it is: from then on what is missing is told, too. */
  readonly isTried = signal(false)
  readonly preview
  readonly sending = new Task()
  /** What became of the last one. */
  readonly outcome = signal<string | undefined>(undefined)
  private readonly terms = signal<Terms | undefined>(undefined)
  private readonly checked = computed(() => this.terms.value === undefined ? undefined : checked(this.draft.value, this.terms.value))
  /** By account, an order under its key, while it is not known what became of it: it outlives the session that sent it. */
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

  /** What is wrong with what is entered, as far as it is to be told. */
  get faults(): ReadonlyArray<Fault> {
    const found = this.checked.value
    if (found === undefined || !("faults" in found)) return []
    return this.isTried.value ? found.faults : found.faults.filter(({ isMissing }) => !isMissing)
  }

  /** Whether what is entered is an order that can be sent. */
  get isWhole(): boolean {
    const found = this.checked.value
    return found !== undefined && "order" in found
  }

  /** The last order, where it has to be found out about before another one is sent. */
  get unknown(): NewOrder | undefined {
    return this.open.value.get(this.accountId())?.order
  }

  /** The value that a refusal of the order would have let pass. */
  suggestion(failure: Pick<Failure, "guard" | "nearest">): { readonly field: Field; readonly text: string } | undefined {
    return suggested(failure, this.draft.value)
  }

  /** The market's figures; another market begins with an empty order. One that is not known about yet stays to be asked for. */
  about(terms: Terms | undefined): void {
    if (terms?.marketId !== this.terms.value?.marketId) this.empty()
    this.terms.value = terms
  }

  /** Takes what is entered, and asks what it would come to once nothing more is for a moment. */
  enter(change: Partial<Draft>): void {
    this.draft.value = { ...this.draft.value, ...change }
    this.sending.clear()
    this.outcome.value = undefined
    this.ask()
  }

  /** Asks what the order would come to, where it is one. */
  ask(): void {
    this.cancelPreview()
    if (!this.isWhole) return this.preview.clear()
    this.cancelPreview = this.outside.venue.platform.after(restMs, () => void this.preview.load())
  }

  /** Sends the order, or asks again for the last one where nobody knows what became of it; whether one was accepted. */
  async submit(): Promise<boolean> {
    this.isTried.value = true
    const found = this.checked.value
    const accountId = this.accountId()
    const goesOn = this.turns.now
    const known = this.open.value.get(accountId)
    if (this.sending.isBusy.value || (known === undefined && (found === undefined || "faults" in found))) return false
    this.outcome.value = undefined
    const open = known ?? {
      // The order's own name is part of what the key stands for.
      order: { ...(found as { readonly order: NewOrder }).order, clientOrderId: this.outside.nextKey() },
      key: this.outside.nextKey(),
      sentAtEpochMs: this.outside.now()
    }
    this.open.value = new Map([...this.open.value, [accountId, open]])
    const placed = await this.sending.run(() => this.commands.place(open.order, { ...open, isNew: known === undefined }))
    if (this.sending.failure.value?.again !== true) this.open.value = new Map([...this.open.value].filter(([of]) => of !== accountId))
    // Who has signed out meanwhile has nothing to be shown, and nothing to read.
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

  /** Forgets what its owner has entered; not an order of which nobody knows what became of it, which may be in the book. */
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

  private async previewed() {
    const found = this.checked.value
    const order = found !== undefined && "order" in found ? found.order : undefined
    // What was entered has changed since: another question follows.
    if (order === undefined) return { value: undefined }
    const answer = await this.client.preview({ accountId: this.accountId(), clientOrderId: "preview", ...order })
    return hasFailed(answer) ? answer : { value: answer.value as Contract.Preview | undefined }
  }
}
