/** Bytes of a record that this version of the journal's format did not write. */
export class Malformed extends Error {
  override readonly name = "Malformed"
}
