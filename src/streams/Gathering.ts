/** A page of what an account's channels told: whole records, until one more would be too many. */
import type { AccountChannel } from "./Channels.js"
import type { Update } from "./Log.js"

/** Characters of events from which on a page takes no further record. */
const mostText = 1 << 20

/** What one record changed of one of an account's channels. */
export interface Told {
  readonly channel: AccountChannel
  readonly update: Update
}

export const textOf = ({ entries }: Update): number => entries.reduce((sum, { text }) => sum + text.length, 0)

export class Gathering {
  readonly told: Array<Told> = []
  private records = 0
  private text = 0

  constructor(private readonly mostRecords: number) {}

  readonly isFull = (): boolean => this.records >= this.mostRecords || this.text >= mostText

  /** Takes all that one record told. */
  readonly take = (told: ReadonlyArray<Told>): void => {
    this.records++
    for (const each of told) {
      this.told.push(each)
      this.text += textOf(each.update)
    }
  }

  /** The last record up to which it has all, of those that were looked at. */
  through(lookedAt: number): number {
    return this.isFull() ? this.told.at(-1)!.update.sequence : lookedAt
  }
}
