/**
 * What endpoints fail with, by kind of endpoint: statuses with their usual codes, and subjects with codes of their own. An endpoint
 * takes its kind's and adds its own: 404 where it names something that may not exist, 422 where it places one order.
 *
 * Failures without an endpoint (no such route, another method, malformed bytes) are declared for none.
 */
import * as Envelopes from "./Envelopes.js"
import type { Part, Status } from "./Envelopes.js"

type Kind = ReadonlyArray<Part>

/** Health: served also while the venue is not, and never limited. */
export const system: Kind = [400, 500]

/** Metrics and the reference: served likewise, and limited by remote address. */
export const limitedSystem: Kind = [...system, 429]

/** Public data: 503 while the venue is starting or stopping. */
export const publicRead: Kind = [...limitedSystem, 503]

/** What nobody needs a credential for, with a body: there may be no room for what it begins. */
export const openWithBody: Kind = [...publicRead, 413, 415]

/** What any API key may read. */
export const anyKeyRead: Kind = [...publicRead, 401]

/** What an API key with the scope `read` may read. */
export const keyedRead: Kind = [...anyKeyRead, 403]

/** What an API key with the scope `read` may read, by a request with a body. */
export const keyedReadWithBody: Kind = [...keyedRead, 413, 415]

/** What belongs to the owner, and is behind a passkey. */
export const owned: Kind = [...anyKeyRead, "Owners"]

/** What belongs to the owner, and is behind a passkey, by a request with a body. */
export const ownedWithBody: Kind = [...owned, 413, 415]

/** An owner's command without a body: an idempotency key that may conflict. */
export const ownedCommandWithoutBody: Kind = [...owned, 409]

/** An owner's command with a body: an idempotency key that may conflict. */
export const ownedCommand: Kind = [...ownedCommandWithoutBody, 413, 415]

/** A command of an API key without a body: an idempotency key that may conflict. Its 429 may also be for an account's share. */
export const commandWithoutBody: Kind = [...keyedRead, 409]

/** A command of an API key with a body: an idempotency key that may conflict. Its 429 may also be for an account's share. */
export const command: Kind = [...commandWithoutBody, 413, 415]

/** A command of the compatibility layer that places orders: it may ask for what is not supported. */
export const placement: Kind = [...command, 501]

/** What the operator alone may do or read; 404 where the venue has no operator token, too. */
export const operator: Kind = [...publicRead, 401, 404]

/** What the operator alone may do or read, by a request with a body. */
export const operatorWithBody: Kind = [...operator, 413, 415]

/** An operator's command without a body: an idempotency key that may conflict. */
export const operatorCommandWithoutBody: Kind = [...operator, 409]

/** An operator's command with a body: an idempotency key that may conflict. */
export const operatorCommand: Kind = [...operatorCommandWithoutBody, 413, 415]

/** What meets no endpoint. */
export const unrouted: ReadonlyArray<Status> = [400, 404, 405, 413, 429, 503]

/** The native envelopes of a kind and of what an endpoint adds to it. */
export const native = (kind: Kind, ...more: Kind) => Envelopes.nativeErrors([...kind, ...more])

/** The compatibility layer's envelopes, likewise. */
export const compat = (kind: Kind, ...more: Kind) => Envelopes.compatErrors([...kind, ...more])
