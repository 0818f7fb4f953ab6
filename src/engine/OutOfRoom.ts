/**
 * Thrown where a record or a snapshot needs more room than the engine was given. A running venue never meets it, because
 * `admit` refuses first; a replay does, when it runs under smaller tables than the venue that wrote the journal.
 */

/** The bounded tables, by the setting that sizes each. */
export type Table = "ORDER_CAPACITY" | "IDEMPOTENCY_CAPACITY"

const contents: { readonly [T in Table]: string } = { ORDER_CAPACITY: "orders", IDEMPOTENCY_CAPACITY: "idempotency keys" }

export class OutOfRoom extends Error {
  override readonly name = "OutOfRoom"
  /** `needed`: the number of entries that must fit at `sequence`. */
  constructor(readonly table: Table, readonly capacity: number, readonly needed: number, readonly sequence: number) {
    super(
      `${table} is ${capacity}, and the ${contents[table]} remembered at sequence ${sequence} need room for ${needed}: `
        + `set ${table} to what this venue ran with, or at least to ${needed}`
    )
  }
}
