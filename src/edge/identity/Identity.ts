/** Every route about who may act: passkeys, sessions, API keys, agents, tickets, and what happened to them. */
import { approveAgentConnect, beginAgentConnect, denyAgentConnect, exchangeAgentConnect, showAgentConnect } from "./agentConnect.js"
import { getCurrentApiKey, listApiKeys, revokeApiKey } from "./apiKeys.js"
import { listPasskeys, removePasskey } from "./passkeys.js"
import { beginRegistration, finishRegistration } from "./register.js"
import { listSecurityEvents } from "./securityEvents.js"
import { endCurrentSession, endOtherSessions, getCurrentSession } from "./sessions.js"
import { beginAuthentication, finishAuthentication } from "./signIn.js"
import { endTickets, mintTicket, rotateTicket } from "./tickets.js"

/** The routes, in the order in which the reference lists them. */
export const routes = [
  beginRegistration,
  finishRegistration,
  beginAuthentication,
  finishAuthentication,
  getCurrentSession,
  endCurrentSession,
  endOtherSessions,
  listPasskeys,
  removePasskey,
  beginAgentConnect,
  showAgentConnect,
  approveAgentConnect,
  denyAgentConnect,
  exchangeAgentConnect,
  getCurrentApiKey,
  listApiKeys,
  revokeApiKey,
  mintTicket,
  rotateTicket,
  endTickets,
  listSecurityEvents
] as const
