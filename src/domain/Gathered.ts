/** The pieces of a body as they arrive, up to a limit: whoever sends it is not trusted to end. */
export class Gathered {
  private readonly pieces: Array<Uint8Array> = []
  private length = 0

  constructor(private readonly mostBytes: number) {}

  /** Takes the next piece. False, with nothing more taken, once there are more bytes than the limit. */
  take(piece: Uint8Array): boolean {
    this.length += piece.length
    if (this.length > this.mostBytes) return false
    this.pieces.push(piece)
    return true
  }

  /** What was taken, in one piece. */
  whole(): Buffer {
    return Buffer.concat(this.pieces)
  }
}
