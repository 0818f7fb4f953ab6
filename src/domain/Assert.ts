/** Assertions: for programming errors only. Expected refusals are values and never come this way. */

/** A broken assumption of the program. The process that sees one must stop: its state can no longer be trusted. */
export class AssertionFailed extends Error {
  override readonly name = "AssertionFailed"
}

/** Throws `AssertionFailed` with the claim that should have held. */
export function assert(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new AssertionFailed(claim)
}
