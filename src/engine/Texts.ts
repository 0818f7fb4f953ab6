/**
 * Texts by number. They lie in many short lists: of a long one V8 takes all texts at once among what it has yet to mark, and every
 * collection of what is young that falls into that time goes through these one by one. With a million and a half it stopped the writer
 * for 32 ms.
 */
const partBits = 10
const partMask = (1 << partBits) - 1

export class Texts {
  private readonly parts: Array<Array<string>> = []

  /** The text under a number that one was put under. */
  at(index: number): string {
    return this.parts[index >> partBits]![index & partMask]!
  }

  /** Puts a text under a number: any that has been put under before, or the next. */
  put(index: number, text: string): void {
    const part = this.parts[index >> partBits] ?? this.begin(index >> partBits)
    part[index & partMask] = text
  }

  private begin(part: number): Array<string> {
    return this.parts[part] = new Array<string>(1 << partBits).fill("")
  }
}
