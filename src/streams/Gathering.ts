/** Collects a page of an account's events in whole records, up to a limit. */
import type { AccountChannel } from "./Channels.js"
import type { Update } from "./Log.js"

/** What one record changed in one of an account's channels. */
export interface Told {
  readonly channel: AccountChannel
  readonly update: Update
}

export const textOf = ({ entries }: Update): number => entries.reduce((sum, { text }) => sum + text.length, 0)

export class Gathering {
  readonly told: Array<Told> = []
  private records = 0
  private text = 0

  /** `mostText`: characters of events from which on it takes no further record. */
  constructor(private readonly mostRecords: number, private readonly mostText: number) {}

  readonly isFull = (): boolean => this.records >= this.mostRecords || this.text >= this.mostText

  /** Takes all that one record told. */
  readonly take = (told: ReadonlyArray<Told>): void => {
    this.records++
    for (const each of told) {
      this.told.push(each)
      this.text += textOf(each.update)
    }
  }

  /** The last record that the page covers completely, of those examined. */
  through(lookedAt: number): number {
    return this.isFull() ? this.told.at(-1)!.update.sequence : lookedAt
  }
}
