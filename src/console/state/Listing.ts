/** A listing read page by page, newest first: the newest page is refreshed on request, and older pages are added after it. */
import { hasFailed, type Result } from "./Failure.js"
import { Reading, Task } from "./Task.js"
import type { GoesOn } from "./Turns.js"

/** Most rows shown; the API offers the rest. */
const most = 500

export interface Listed<Row> {
  readonly rows: ReadonlyArray<Row>
  readonly nextCursor: string | null
}

export class Listing<Row> {
  readonly list
  readonly older = new Task()
  /** The value that is shown since a page was added. */
  private longer: Listed<Row> | undefined

  constructor(private readonly page: (cursor: string | undefined, goesOn: GoesOn) => Promise<Result<Listed<Row>>>) {
    this.list = new Reading((goesOn) => page(undefined, goesOn))
  }

  /** Whether there are older rows that can be shown. */
  get hasMore(): boolean {
    const shown = this.list.value.value
    return shown !== undefined && shown.nextCursor !== null && shown.rows.length < most
  }

  /** Whether older pages have been added: refreshing the newest page would remove them. */
  get isLonger(): boolean {
    return this.longer !== undefined && this.longer === this.list.value.value
  }

  /** Adds the next page. */
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

/** One of the venue's pages as a page of a listing. */
export const listed = <Page extends { readonly nextCursor: string | null }, Row>(
  rows: (page: Page) => ReadonlyArray<Row>,
  page: Result<Page>
): Result<Listed<Row>> => hasFailed(page) ? page : { value: { rows: rows(page.value), nextCursor: page.value.nextCursor } }
