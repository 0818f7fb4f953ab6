/** The package's exports, the same on every platform. */
export { BookFeed } from "./BookFeed.js"
export type {
  AccountChannel,
  BookChange,
  Candles,
  Channel,
  ClosedPosition,
  MarketChannel,
  SnapshotEvent,
  SnapshotReason,
  Snapshots,
  StreamEvent,
  StreamName,
  UpdateEvent,
  Updates
} from "./Channels.js"
export { Client, type Identity, type Latest, type NewOrder, type Options, type OrderName, type Page } from "./Client.js"
export type * as Contract from "./Contract.js"
export { Events } from "./Events.js"
export type { Following, Listener } from "./Following.js"
export { LocalBook } from "./LocalBook.js"
export { Forgotten, Unproven } from "./Outcome.js"
export type { Accepted, NeverArrived, NotDone, Outcome, Unknown } from "./Outcome.js"
export type { HttpAnswer, HttpRequest, Line, LineEvents, Platform } from "./Platform.js"
export { Refusal, Unanswered } from "./Refusal.js"
export type { Asked, Rest } from "./Rest.js"
export { sha256 } from "./Sha256.js"
export type { Notice } from "./Stream.js"
export type { TicketSource } from "./Tickets.js"
