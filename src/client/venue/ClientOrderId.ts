/**
 * The clientOrderId of an order that the caller gives none. It is derived from the command's idempotency key, so that repeating a call
 * under its key sends the same body: the venue refuses another body under a known key, and the outcome of the first would stay unknown.
 */
import { sha256 } from "./Sha256.js"

/** Hex digits of the digest that are kept: 128 bits. The venue accepts 1 to 64 of `A-Z a-z 0-9 . _ : -`. */
const hexDigits = 32

/** `entry`: the order's index in a batch; undefined for a single order. */
export const clientOrderIdOf = (idempotencyKey: string, entry: number | undefined): string =>
  sha256(`${entry === undefined ? "order" : `entry ${entry}`} of ${idempotencyKey}`).slice(0, hexDigits)
