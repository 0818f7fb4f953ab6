/**
 * The account's deposits, or its withdrawals: requesting one, approving its steps, cancelling one, and their states. None of it exists only
 * here: unfinished transfers are read from the venue, so that a reopened page continues where they stand.
 */
import { signal } from "@preact/signals-core"
import { isTooNewToForget } from "../../client/venue/CommandKey.js"
import { approve } from "./Approving.js"
import type { SigningStep } from "./Contract.js"
import type { Desk, Page, Wish } from "./Desk.js"
import { hasFailed, type Result } from "./Failure.js"
import type { Outside } from "./Outside.js"
import { Reading, Task } from "./Task.js"
import { awaitsOwner, isOver, stepAtHand, type Transfer } from "./Transfer.js"
import { type GoesOn, heard, Turns } from "./Turns.js"

/** The actions in progress on one transfer. */
interface Work {
  readonly approving: Task
  readonly givingUp: Task
}

/**
 * A request that may have been done: repeated, it has the same key, as long as its content is unchanged and the venue has not forgotten it.
 */
interface Asked {
  readonly wish: Wish
  readonly key: string
  readonly sentAtEpochMs: number
  /** The transfers shown when it was first sent; undefined where none had been read, so that a list cannot tell which one it created. */
  readonly before: ReadonlySet<string> | undefined
}

/** Whether a transfer was created by a request. */
const isMadeBy = ({ before, wish }: Asked, { amountAtoms, id, kind, partyId }: Transfer): boolean =>
  before?.has(id) === false && amountAtoms === wish.amountAtoms && (kind === "deposit" || partyId === wish.destinationPartyId)

/** The later of two states of a transfer: answers may arrive out of order. */
const later = (known: Transfer | undefined, told: Transfer): Transfer =>
  known !== undefined && known.updatedAtEpochMs > told.updatedAtEpochMs ? known : told

export class Transfers {
  readonly list
  readonly older = new Task()
  readonly requesting = new Task()
  /** The transfer that ended most recently while it was shown. */
  readonly ended = signal<Transfer | undefined>(undefined)
  private readonly works = new Map<string, Work>()
  private asked: Asked | undefined
  private begun: string | undefined
  private readonly turns = new Turns()

  constructor(private readonly desk: Desk, private readonly outside: Pick<Outside, "nextKey" | "now" | "usePasskey">) {
    this.list = new Reading((goesOn) => this.newest(goesOn))
  }

  private get shown(): ReadonlyArray<Transfer> {
    return this.list.value.value?.transfers ?? []
  }

  /** The transfers that have not ended, newest first. */
  get unfinished(): ReadonlyArray<Transfer> {
    return this.shown.filter((transfer) => !isOver(transfer))
  }

  /** The actions in progress on a transfer. */
  workOf(id: string): Work {
    const found = this.works.get(id) ?? { approving: new Task(), givingUp: new Task() }
    this.works.set(id, found)
    return found
  }

  /** Whether a transfer was just started here; true only once, so that the focus moves to it once. */
  takeBegun(id: string): boolean {
    const isBegun = this.begun === id
    if (isBegun) this.begun = undefined
    return isBegun
  }

  /** Requests a transfer; returns whether one was created. */
  async request(wish: Wish): Promise<boolean> {
    this.ended.value = undefined
    const made = await this.requesting.run(() => {
      this.asked = this.isAskedAgain(wish) ? this.asked : this.firstAsked(wish)
      return this.desk.create(wish, this.asked!.key)
    })
    // Decided one way or the other: another click is a new request.
    if (made !== undefined || this.requesting.failure.value?.again === false) this.asked = undefined
    if (made === undefined) {
      const goesOn = this.turns.now
      const { failure } = this.requesting
      if (failure.value === undefined) return false
      // A conflicting transfer may have been started in another tab; and a lost answer may have been a success.
      await this.list.load()
      return goesOn() && failure.value === undefined
    }
    this.begun = made.id
    this.put(made)
    return true
  }

  /** Approves the current step with a passkey, or merely continues the transfer where no approval is due. */
  async approve(transfer: Transfer): Promise<void> {
    const { id } = transfer
    const step = stepAtHand(transfer)
    if (step === undefined) return
    const { approving } = this.workOf(id)
    const came = await approving.run((goesOn): Promise<Result<Transfer>> => this.confirm(id, step, goesOn))
    if (came === undefined) {
      // A lost answer may have been a success.
      if (approving.failure.value !== undefined) await this.look(id)
      return
    }
    this.put(came)
  }

  /** Cancels a transfer that has not been approved; returns whether it has ended. */
  async giveUp(id: string): Promise<boolean> {
    const { approving, givingUp } = this.workOf(id)
    const ended = await givingUp.run(async (goesOn) => {
      const answer = await this.desk.giveUp(id)
      // A lost answer may have been a success.
      if (hasFailed(answer) && goesOn()) await this.look(id)
      return answer
    })
    if (ended === undefined) return false
    approving.clear()
    this.put(ended)
    return true
  }

  /** Refreshes the unfinished transfers, unless that is in progress or there are none. */
  async refresh(): Promise<void> {
    if (this.unfinished.length > 0 && !this.list.isBusy.value) await this.list.load()
  }

  /** Whether there are older ones than are shown. */
  get hasMore(): boolean {
    return (this.list.value.value?.nextCursor ?? null) !== null
  }

  /** Adds the next page. */
  async more(): Promise<void> {
    const cursor = this.list.value.value?.nextCursor ?? undefined
    if (cursor === undefined) return
    const page = await this.older.run(() => this.desk.page(cursor))
    const now = this.list.value.value
    if (page === undefined || now === undefined) return
    const known = new Set(now.transfers.map(({ id }) => id))
    this.list.value.value = {
      transfers: [...now.transfers, ...page.transfers.filter(({ id }) => !known.has(id))],
      nextCursor: page.nextCursor
    }
  }

  clear(): void {
    this.turns.next()
    this.list.clear()
    for (const { approving, givingUp } of this.works.values()) {
      approving.forget()
      givingUp.forget()
    }
    this.works.clear()
    this.older.forget()
    this.requesting.forget()
    this.ended.value = undefined
    this.asked = undefined
    this.begun = undefined
  }

  /** Whether a request repeats the previous one, under a key that the venue cannot have forgotten: after that it would be done again. */
  private isAskedAgain({ amountAtoms, destinationPartyId }: Wish): boolean {
    const { asked } = this
    return asked?.wish.amountAtoms === amountAtoms && asked.wish.destinationPartyId === destinationPartyId
      && isTooNewToForget(asked.sentAtEpochMs, this.outside.now())
  }

  private firstAsked(wish: Wish): Asked {
    const before = this.list.value.value === undefined ? undefined : new Set(this.shown.map(({ id }) => id))
    return { wish, key: this.outside.nextKey(), sentAtEpochMs: this.outside.now(), before }
  }

  private async confirm(id: string, step: SigningStep, goesOn: GoesOn): Promise<Result<Transfer>> {
    // The expected step is named, so that nothing but the step shown is approved.
    const asked = heard(goesOn, await this.desk.initiate(id, step))
    if (hasFailed(asked)) return asked
    const { due, transfer } = asked.value
    if (due === undefined) return { value: transfer }
    const factor = await approve(this.outside, due.challenge, goesOn)
    if (hasFailed(factor)) return factor
    const { challenge: { challengeIdentifier }, signingStep } = due
    const done = await this.desk.complete(id, { signingStep, challengeIdentifier, firstFactor: factor.value })
    return hasFailed(done) ? done : { value: done.value.transfer }
  }

  private async look(id: string): Promise<void> {
    const goesOn = this.turns.now
    const told = heard(goesOn, await this.desk.show(id))
    if (!hasFailed(told)) this.put(told.value)
  }

  private put(told: Transfer): void {
    const { list, shown } = this
    const known = shown.find(({ id }) => id === told.id)
    const transfer = this.noted(later(known, told))
    const transfers = known === undefined ? [transfer, ...shown] : shown.map((each) => each.id === told.id ? transfer : each)
    list.value.value = { transfers, nextCursor: list.value.value?.nextCursor ?? null }
  }

  /** The newest page, followed by the older transfers that are shown; those of them that have not ended are read one by one. */
  private async newest(goesOn: GoesOn): Promise<Result<Page>> {
    const page = heard(goesOn, await this.desk.page(undefined))
    if (hasFailed(page)) return page
    const told = new Set(page.value.transfers.map(({ id }) => id))
    const before = this.shown.filter(({ id }) => !told.has(id))
    const isFirst = this.list.value.value === undefined
    const looked = await Promise.all(before.map(async (transfer) => {
      if (isOver(transfer)) return transfer
      const now = await this.desk.show(transfer.id)
      return hasFailed(now) ? transfer : now.value
    }))
    if (!goesOn()) return page
    const known = new Map(this.shown.map((transfer) => [transfer.id, transfer]))
    const transfers = [...page.value.transfers, ...looked].map((transfer) => this.noted(later(known.get(transfer.id), transfer)))
    const nextCursor = isFirst || before.length === 0 ? page.value.nextCursor : this.list.value.value?.nextCursor ?? null
    return { value: { transfers, nextCursor } }
  }

  /**
   * Takes note of a transfer's state. A transfer that was created by a request whose answer was lost is that request's answer: a user who
   * repeats the request while seeing this transfer wants another one. Once the current step is approved or has changed, messages about its
   * approval are cleared.
   */
  private noted(transfer: Transfer): Transfer {
    const known = this.shown.find(({ id }) => id === transfer.id)
    if (this.asked !== undefined && !this.requesting.isBusy.value && isMadeBy(this.asked, transfer)) {
      this.asked = undefined
      if (known === undefined) this.begun = transfer.id
      this.requesting.clear()
    }
    if (known !== undefined && isOver(transfer) && !isOver(known)) this.ended.value = transfer
    const isPast = !awaitsOwner(transfer) || (known !== undefined && stepAtHand(known) !== stepAtHand(transfer))
    if (known !== undefined && isPast) this.works.get(transfer.id)?.approving.clear()
    return transfer
  }
}
