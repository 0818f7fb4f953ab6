/**
 * Realtime tickets: `POST /v1/realtime/ticket` mints one with an API key, `PUT` rotates it, `DELETE` ends its family. Whoever
 * holds a ticket may rotate and end it: neither takes a bearer.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import { Refusal } from "../../domain/Refusal.js"
import { type Place, ticketPattern } from "../../identity/Tickets.js"
import { Principal } from "../../operations/Header.js"
import { bitsOf, scopeRead } from "../../operations/identity/KeyGrant.js"
import { type Command, Operation } from "../../operations/Operations.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { noteUse } from "../http/Admission.js"
import { fail, noContent } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import { BodyIsOptional } from "../http/Features.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { keyOfFamily, refusedTicket } from "../http/TicketRefusals.js"
import { Scopes } from "./ApiKeyRecord.js"
import { owned, proved } from "./Sent.js"

const target = "/v1/realtime/ticket"
const sample = "AAAAAAAAAAAAAAAAtqWT3gY2ZZvW0C3zXzKq1w9m4Hc"

const MintBody = Schema.Struct({
  scopes: Fields.optional(Scopes).annotations({
    description: "What the ticket may do: `read` when absent. The stream takes no ticket without `read`; one for orders has `trade` "
      + "besides, which it has only where it is asked for and the key has it."
  })
}).annotations({ identifier: "RealtimeTicketScopes" })

const Ticket = Schema.Struct({
  ticket: Fields.Text.annotations({ description: "43 characters of `[A-Za-z0-9_-]`." }),
  accountId: Fields.Text,
  expiresAt: Fields.EpochMs.annotations({ description: "Milliseconds since the Unix epoch." })
}).annotations({ identifier: "RealtimeTicket" })

const TicketBody = Schema.Struct({
  ticket: Fields.optional(Schema.String).annotations({
    description: "43 characters of `[A-Za-z0-9_-]`. Another text, or none, is `realtime_ticket_rejected`."
  })
}).annotations({ identifier: "RealtimeTicketBody" })

/** The form of a ticket. Ending an expired ticket, or one of another venue, does nothing. */
const EndBody = Schema.Struct({
  ticket: Schema.String.pipe(Schema.pattern(ticketPattern))
}).annotations({ identifier: "EndedRealtimeTicketBody" })

/** A ticket of the family that a command began or continued. */
const issued = (
  services: Services,
  command: Command,
  refusedAs?: (refusal: Refusal) => Errors.Failure
): Effect.Effect<typeof Ticket.Type, Errors.Failure> =>
  Effect.map(Submission.submitted(services, command, undefined, refusedAs), ({ entries: [entry] }) => {
    assert(entry?._tag === "TicketIssued", "minting and rotating come to a ticket")
    return {
      ticket: services.identity.tickets.text(services.state, entry),
      accountId: services.state.accountId(entry.account),
      expiresAt: entry.expiresAtEpochMs
    }
  })

/**
 * The family and generation of the ticket that was sent; fails where there is none, or it is not this venue's. Nothing is submitted for
 * a family that is not known: by its turn the number may have been given out to another key.
 */
const withPlace = <A>(
  { identity: { tickets }, state }: Services,
  ticket: string | undefined,
  then: (place: Place) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> => {
  if (ticket === undefined) return fail(Errors.ticketMissing)
  const place = tickets.verify(state, ticket)
  if (place === undefined) return fail(Errors.refused(Refusal.ticketInvalid))
  return state.findTicketFamily(place.family) === undefined ? fail(Errors.refused(Refusal.ticketExpired)) : then(place)
}

export const mintTicket = Route.effect({
  tag: "identity",
  access: "key_read",
  budget: "key",
  endpoint: HttpApiEndpoint.post("mintTicket", target)
    .setPayload(MintBody)
    .addSuccess(Ticket)
    .addError(Failures.native(Failures.keyedReadWithBody))
    .annotate(BodyIsOptional, true)
    .annotate(OpenApi.Summary, "A ticket for the realtime stream's account channels, good for five minutes"),
  example: { target, body: { scopes: ["read"] } },
  handler: (services) => ({ payload, trader }) => {
    const scopes = payload.scopes === undefined ? scopeRead : bitsOf(payload.scopes)
    return (trader.scopes & scopes) === scopes
      ? issued(services, owned("MintTicket", trader, Operation.mintTicket, { scopes }))
      : fail(Errors.refused(Refusal.keyScopeMissing))
  }
})

export const rotateTicket = Route.effect({
  tag: "identity",
  access: "public",
  budget: "ticket",
  endpoint: HttpApiEndpoint.put("rotateTicket", target)
    .setPayload(TicketBody)
    .addSuccess(Ticket)
    .addError(Failures.native(Failures.openWithBody, "Tickets"))
    .annotate(OpenApi.Summary, "The ticket's successor, with five minutes of its own; up to twelve hours after the first")
    .annotate(
      OpenApi.Description,
      "The ticket is the credential: an `Authorization` header is ignored, whatever it holds. No successor ends later than twelve hours "
        + "after the first ticket, or than its key: where `expiresAt` is no later than that of the ticket before, mint another."
    ),
  example: { target, body: { ticket: sample } },
  handler: (services) => ({ payload, remoteAddress }) =>
    withPlace(services, payload.ticket, (place) =>
      issued(services, proved("RotateTicket", Principal.ticket, Operation.rotateTicket, { ...place, remoteAddress }), (refusal) =>
        refusedTicket(services.state, keyOfFamily(services.state, place.family), refusal)).pipe(
          Effect.tap(() =>
            Effect.sync(() => noteUse(services, keyOfFamily(services.state, place.family), remoteAddress))
          )
        ))
})

export const endTickets = Route.effect({
  tag: "identity",
  access: "public",
  budget: "ticket",
  endpoint: HttpApiEndpoint.del("endTickets", target)
    .setPayload(EndBody)
    .addSuccess(HttpApiSchema.NoContent)
    .addError(Failures.native(Failures.openWithBody))
    .annotate(OpenApi.Summary, "End the ticket and all that came of it; nothing becomes of one that is over or not known")
    .annotate(OpenApi.Description, "The ticket is the credential: an `Authorization` header is ignored, whatever it holds."),
  example: { target, body: { ticket: sample } },
  handler: (services) => ({ payload: { ticket } }) =>
    Effect.suspend(() => {
      const place = services.identity.tickets.verify(services.state, ticket)
      const family = place === undefined ? undefined : services.state.findTicketFamily(place.family)
      // Where nothing is left to end, no record is needed.
      if (place === undefined || family === undefined || family.isEnded) return Effect.succeed(noContent)
      const ending = proved("EndTickets", Principal.ticket, Operation.endTickets, place)
      return Effect.map(Submission.submitted(services, ending), () => noContent)
    })
})
