/**
 * Owners' sessions that have not been ended, by number and by the digest of their token. All have the same lifetime, so they expire
 * in the order of their numbers and are forgotten from the oldest on.
 */
import { assert } from "../../domain/Assert.js"
import { Multimap } from "../../domain/Multimap.js"
import { StepwiseLine, StepwiseMap } from "../../domain/Stepwise.js"

/** How long a session lives. */
export const sessionMs = 12 * 60 * 60 * 1000
/** Most expired sessions that are forgotten with each new one: more than one, so that their number falls. */
const forgottenAtOnce = 8

export interface Session {
  /** The number of the session, counted over the whole venue from 0. */
  readonly number: number
  readonly account: number
  /** Lowercase hex. */
  readonly tokenSha256: string
  readonly credentialId: string
  readonly createdAtEpochMs: number
  readonly expiresAtEpochMs: number
}

export class Sessions {
  /** Sessions opened so far, which is also the number of the next. */
  total = 0
  private readonly byNumber = new StepwiseLine<number, Session>()
  private readonly byToken = new StepwiseMap<string, Session>()
  private readonly byAccount = new Multimap<number, Session>()

  get count(): number {
    return this.byNumber.size
  }

  find(number: number): Session | undefined {
    return this.byNumber.get(number)
  }

  findToken(tokenSha256: string): Session | undefined {
    return this.byToken.get(tokenSha256)
  }

  /** The sessions of an account, oldest first. */
  of(account: number): ReadonlyArray<Session> {
    return this.byAccount.of(account)
  }

  add(session: Session): void {
    assert(session.number >= this.total && !this.byToken.has(session.tokenSha256), "a session is opened once")
    this.total = session.number + 1
    this.byNumber.set(session.number, session)
    this.byToken.set(session.tokenSha256, session)
    this.byAccount.add(session.account, session)
  }

  remove(session: Session): void {
    this.byNumber.delete(session.number)
    this.byToken.delete(session.tokenSha256)
    this.byAccount.remove(session.account, session)
  }

  /** Forgets some of the oldest sessions that have expired at a time. */
  forget(atEpochMs: number): void {
    let left = forgottenAtOnce
    for (const session of this.byNumber.values()) {
      if (session.expiresAtEpochMs > atEpochMs || left-- === 0) return
      this.remove(session)
    }
  }

  /** All sessions, oldest first. */
  all(): ReadonlyArray<Session> {
    return [...this.byNumber.values()]
  }
}
