/** A text on its way to clients. Whoever puts it on a wire may keep its bytes there: one frame goes to many. */
export class Frame {
  /** The frame as the wire has it, once somebody has made it. */
  wire: Uint8Array | undefined = undefined

  constructor(readonly text: string) {}
}
