/** A listing read page by page, newest first: the newest page is refreshed on request, and older pages are added after it. */
import { hasFailed, type Result } from "./Failure.js"
import { Reading, Task } from "./Task.js"
import type { GoesOn } from "./Turns.js"

export interface Listed<Row> {
  readonly rows: ReadonlyArray<Row>
  readonly nextCursor: string | null
  /** All rows of the newest page, where `rows` leaves some of them out. */
  readonly newest?: ReadonlyArray<Row>
}

export class Listing<Row> {
  readonly list
  readonly older = new Task()
  /** The newest page, read for a list to which older pages were added. */
  private readonly newest
  /** The value that is shown since a page was added. */
  private longer: Listed<Row> | undefined

  /**
   * `keyOf`: what a row is recognized by when the newest page is read again; by default all of it, since most rows never change.
   * `most`: the number of rows that is shown at most; the API offers the rest.
   */
  constructor(
    private readonly page: (cursor: string | undefined, goesOn: GoesOn) => Promise<Result<Listed<Row>>>,
    private readonly keyOf: (row: Row) => string = (row) => JSON.stringify(row),
    private readonly most = 500
  ) {
    this.list = new Reading((goesOn) => page(undefined, goesOn))
    this.newest = new Reading((goesOn) => page(undefined, goesOn))
  }

  /** Whether there are older rows that can be shown. */
  get hasMore(): boolean {
    const shown = this.list.value.value
    return shown !== undefined && shown.nextCursor !== null && shown.rows.length < this.most
  }

  /** Reads the newest page again. Older pages that were added stay behind it, if what is shown reaches up to it. */
  async refresh(): Promise<void> {
    const { list, longer, newest } = this
    if (list.isBusy.value || newest.isBusy.value) return
    if (longer === undefined || longer !== list.value.value) return void await list.load()
    const isRead = await newest.load()
    const { failure, value: { value: page } } = newest
    if (this.longer !== longer || longer !== list.value.value) return
    list.failure.value = failure.value
    if (isRead && page !== undefined) list.value.value = this.longer = this.joined(page, longer)
  }

  /** Adds the next page. */
  async more(): Promise<void> {
    const shown = this.list.value.value
    const cursor = shown?.nextCursor
    if (shown === undefined || cursor === undefined || cursor === null) return
    const page = await this.older.run((goesOn) => this.page(cursor, goesOn))
    if (page === undefined || this.list.value.value !== shown) return
    this.longer = { ...shown, rows: [...shown.rows, ...page.rows].slice(0, this.most), nextCursor: page.nextCursor }
    this.list.value.value = this.longer
  }

  private joined(page: Listed<Row>, shown: Listed<Row>): Listed<Row> {
    const told = new Set((page.newest ?? page.rows).map(this.keyOf))
    const isTold = (row: Row): boolean => told.has(this.keyOf(row))
    const before = shown.newest ?? shown.rows
    // Without a row in common there may be others between both, which are nowhere: what is shown begins anew. Rows that are left out count,
    // since a page that has none to show says nothing of what lies between it and the one before.
    if (told.size > 0 && before.length > 0 && !before.some(isTold)) return page
    const rows = [...page.rows, ...shown.rows.filter((row) => !isTold(row))]
    return { ...page, rows: rows.slice(0, this.most), nextCursor: shown.nextCursor }
  }

  clear(): void {
    this.list.clear()
    this.newest.clear()
    this.older.forget()
    this.longer = undefined
  }
}

/** One of the venue's pages as a page of a listing, with those of its rows that are to be shown: by default all. */
export const listed = <Page extends { readonly nextCursor: string | null }, Row>(
  rowsOf: (page: Page) => ReadonlyArray<Row>,
  page: Result<Page>,
  shows?: (row: Row) => boolean
): Result<Listed<Row>> => {
  if (hasFailed(page)) return page
  const { nextCursor } = page.value
  const rows = rowsOf(page.value)
  return { value: shows === undefined ? { rows, nextCursor } : { rows: rows.filter(shows), nextCursor, newest: rows } }
}
