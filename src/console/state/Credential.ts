/**
 * Who is signed in in this tab: the session's token is kept in memory and in the tab's own storage, not in a cookie, and no other tab can
 * read it. It ends at its expiry, on signing out, or when the venue no longer accepts it.
 */
import { type ReadonlySignal, signal } from "@preact/signals-core"
import type { Session } from "./Contract.js"
import type { Outside } from "./Outside.js"

export type Signed = Pick<Session, "accessToken" | "accountId" | "expiresAtEpochMs">

const restored = (text: string | undefined): Signed | undefined => {
  if (text === undefined) return undefined
  try {
    const { accessToken, accountId, expiresAtEpochMs } = JSON.parse(text) as Partial<Signed>
    if (typeof accessToken !== "string" || typeof accountId !== "string" || typeof expiresAtEpochMs !== "number") return undefined
    return { accessToken, accountId, expiresAtEpochMs }
  } catch {
    return undefined
  }
}

export class Credential {
  private readonly held = signal<Signed | undefined>(undefined)
  private readonly said = signal<string | undefined>(undefined)

  constructor(private readonly outside: Pick<Outside, "kept" | "now">) {
    const found = restored(outside.kept.read())
    if (found !== undefined && found.expiresAtEpochMs > outside.now()) this.held.value = found
    else outside.kept.clear()
  }

  /** The session; undefined where nobody is signed in. */
  get signed(): ReadonlySignal<Signed | undefined> {
    return this.held
  }

  /** Why the last session ended, to be shown at the next sign-in; undefined where there is nothing to say. */
  get ended(): ReadonlySignal<string | undefined> {
    return this.said
  }

  keep({ accessToken, accountId, expiresAtEpochMs }: Session): void {
    const next = { accessToken, accountId, expiresAtEpochMs }
    this.outside.kept.write(JSON.stringify(next))
    this.said.value = undefined
    this.held.value = next
  }

  drop(reason: string | undefined): void {
    this.outside.kept.clear()
    this.said.value = reason
    this.held.value = undefined
  }

  /** Handles a token that the venue did not accept: a session that has replaced it meanwhile is not ended. */
  rejected(accessToken: string): void {
    if (this.held.value?.accessToken === accessToken) this.drop("Your session has ended. Sign in again to go on.")
  }
}
