/** A text on its way to clients. Its encoded bytes may be cached here, since one frame goes to many. */
export class Frame {
  /** The encoded frame, once made. */
  wire: Uint8Array | undefined = undefined

  constructor(readonly text: string) {}
}
