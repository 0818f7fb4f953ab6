/** Bytes of a record that this version of the journal's format cannot have written. */
export class Malformed extends Error {
  override readonly name = "Malformed"
}
