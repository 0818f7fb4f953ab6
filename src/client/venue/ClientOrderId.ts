/**
 * The name of an order whose caller gives it none. It is made of the command's idempotency key, so that whoever repeats a call under
 * its key sends the same body: the venue refuses another body under a key that it has seen, and what the first one did stays untold.
 */
import { sha256 } from "./Sha256.js"

/** How much of the digest is kept: 128 bits. The venue takes 1 to 64 of `A-Z a-z 0-9 . _ : -`. */
const hexDigits = 32

/** `entry`: the order's place in a batch; undefined where it is placed alone. */
export const clientOrderIdOf = (idempotencyKey: string, entry: number | undefined): string =>
  sha256(`${entry === undefined ? "order" : `entry ${entry}`} of ${idempotencyKey}`).slice(0, hexDigits)
