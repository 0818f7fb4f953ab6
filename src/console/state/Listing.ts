/** A listing that is read page by page, newest first: the newest page again whenever it is asked for, older ones behind it. */
import { hasFailed, type Result } from "./Failure.js"
import { Reading, Task } from "./Task.js"
import type { GoesOn } from "./Turns.js"

/** Rows that are shown at most: whoever needs all of them asks the API. */
const most = 500

export interface Listed<Row> {
  readonly rows: ReadonlyArray<Row>
  readonly nextCursor: string | null
}

export class Listing<Row> {
  readonly list
  readonly older = new Task()
  /** What is shown since a page was added. */
  private longer: Listed<Row> | undefined

  constructor(private readonly page: (cursor: string | undefined, goesOn: GoesOn) => Promise<Result<Listed<Row>>>) {
    this.list = new Reading((goesOn) => page(undefined, goesOn))
  }

  /** Whether there are older ones that can be shown. */
  get hasMore(): boolean {
    const shown = this.list.value.value
    return shown !== undefined && shown.nextCursor !== null && shown.rows.length < most
  }

  /** Whether somebody has gone on to older ones: reading the newest page again would take them away. */
  get isLonger(): boolean {
    return this.longer !== undefined && this.longer === this.list.value.value
  }

  /** Adds the next page to what is shown. */
  async more(): Promise<void> {
    const shown = this.list.value.value
    const cursor = shown?.nextCursor
    if (shown === undefined || cursor === undefined || cursor === null) return
    const page = await this.older.run((goesOn) => this.page(cursor, goesOn))
    if (page === undefined || this.list.value.value !== shown) return
    this.longer = { rows: [...shown.rows, ...page.rows].slice(0, most), nextCursor: page.nextCursor }
    this.list.value.value = this.longer
  }

  clear(): void {
    this.list.clear()
    this.older.forget()
    this.longer = undefined
  }
}

/** A page of the venue's as one of a listing. */
export const listed = <Page extends { readonly nextCursor: string | null }, Row>(
  rows: (page: Page) => ReadonlyArray<Row>,
  page: Result<Page>
): Result<Listed<Row>> => hasFailed(page) ? page : { value: { rows: rows(page.value), nextCursor: page.value.nextCursor } }
