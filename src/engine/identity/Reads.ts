/** Reads about who may act. */
import { Principal } from "../../operations/Header.js"
import { MarketReads } from "../markets/Reads.js"
import type { GrantView, PasskeyView, SecurityEventView, SecurityStanding, SessionView, TicketFamilyView } from "../Reads.js"
import type { Session } from "./Sessions.js"

const sessionView = (session: Session): SessionView => ({ principal: Principal.session, credential: session.number, ...session })

export class IdentityReads extends MarketReads {
  clientName(key: number): string | undefined {
    return this.state.identity.clientNames.get(key)
  }

  isBotKey(key: number): boolean {
    return this.state.identity.botKeys.has(key)
  }

  keyLastUsedAt(key: number): number {
    return this.state.identity.keyUses.lastUsedAt(key)
  }

  keyAddresses(key: number): ReadonlyArray<string> {
    return this.state.identity.keyUses.addressesOf(key)
  }

  findTicketFamily(family: number): TicketFamilyView | undefined {
    return this.state.identity.tickets.find(family)
  }

  findSession(tokenSha256: string): SessionView | undefined {
    const session = this.state.identity.sessions.findToken(tokenSha256)
    return session === undefined ? undefined : sessionView(session)
  }

  findPasskey(credentialId: string): PasskeyView | undefined {
    return this.state.identity.passkeys.find(credentialId)
  }

  passkeys(account: number): ReadonlyArray<PasskeyView> {
    return this.state.identity.passkeys.of(account)
  }

  findGrant(deviceSha256: string): GrantView | undefined {
    return this.state.identity.grants.find(deviceSha256)
  }

  grants(account: number): ReadonlyArray<GrantView> {
    return this.state.identity.grants.of(account)
  }

  securityEvents(account: number, before: number, limit: number): ReadonlyArray<SecurityEventView> {
    return this.state.identity.security.of(account, before, limit)
  }

  securityStanding(account: number): SecurityStanding {
    const { security } = this.state.identity
    return { count: security.countOf(account), oldestSequence: security.oldestSequence }
  }
}
