/**
 * Tickets, with which a connection acts for an account. One is minted with the API key and then rotated, which needs no key and does not
 * count against the key's rate limit. Where a ticket can no longer be rotated, or is spent and its successor ends no later, as with its
 * family twelve hours after the first one, another is minted.
 */
import type * as Contract from "./Contract.js"
import type { Rest } from "./Rest.js"

/** An answer without a ticket is not the venue's, but that of something in between. */
const asked = { path: "/v1/realtime/ticket", text: "ticket" }

/** The remaining lifetime that a ticket must have to be used on another connection, in milliseconds. */
const leastLeftMs = 60_000

/** A source of tickets. `isSpent`: the last one was refused, or is about to expire, so that one that lives longer is needed. */
export type TicketSource = (isSpent: boolean) => Promise<{ readonly ticket: string }>

export class Tickets {
  private held: Contract.Ticket | undefined

  constructor(private readonly rest: Rest, private readonly scopes: ReadonlyArray<"read" | "trade">) {}

  readonly take: TicketSource = async (isSpent) => {
    const { held } = this
    const nowEpochMs = this.rest.platform.nowEpochMs()
    if (held !== undefined && !isSpent && held.expiresAt - nowEpochMs > leastLeftMs) return held
    this.held = undefined
    const next = held === undefined ? undefined : await this.rotated(held)
    // A spent one's successor gains nothing if it ends no later. One that seems old to this clock alone is no reason to mint.
    this.held = next === undefined || isSpent && next.expiresAt <= held!.expiresAt ? await this.minted() : next
    return this.held
  }

  /** Ends the ticket and its whole family, so that a key's tickets do not accumulate. A ticket that cannot be ended expires by itself. */
  async end(): Promise<void> {
    const { held } = this
    this.held = undefined
    if (held === undefined) return
    await this.rest.repeat({ method: "DELETE", path: asked.path, body: { ticket: held.ticket }, isOpen: true }, () => {}, 1)
  }

  private async minted(): Promise<Contract.Ticket> {
    return await this.rest.ask({ ...asked, method: "POST", body: { scopes: this.scopes } })
  }

  /** The ticket's successor; undefined where it has none any more. A lost answer may have created one that nobody knows. */
  private async rotated({ ticket }: Contract.Ticket): Promise<Contract.Ticket | undefined> {
    const attempt = await this.rest.repeat<Contract.Ticket>({ ...asked, method: "PUT", body: { ticket }, isOpen: true }, () => {}, 1)
    return attempt.kind === "answered" ? attempt.value : undefined
  }
}
