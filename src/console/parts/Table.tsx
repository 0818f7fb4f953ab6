/**
 * A table where there is room, and a list of labelled values where there is none. The roles are said outright, because a browser
 * forgets those of a table that is laid out otherwise.
 */
import type { ComponentChildren } from "preact"

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Numbers stand to the right, digit under digit. */
  readonly isNumber?: boolean
  /** What can be done with a row: its title is said, not shown. */
  readonly isAction?: boolean
  /** Names its row. */
  readonly isName?: boolean
}

interface Props<Row> {
  readonly label: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly keyOf: (row: Row) => string | number
  /** Said instead of an empty table. */
  readonly empty: ComponentChildren
}

const kind = ({ isAction, isNumber }: { readonly isAction?: boolean; readonly isNumber?: boolean }): string | undefined =>
  isNumber === true ? "number" : isAction === true ? "action" : undefined

export const Table = <Row extends object>({ columns, empty, keyOf, label, rows }: Props<Row>) => {
  if (rows.length === 0) return <p class="soft">{empty}</p>
  return (
    <table role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th key={column.title} scope="col" role="columnheader" class={kind(column)}>
              {column.isAction === true ? <span class="unseen">{column.title}</span> : column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row">
            {columns.map((column) =>
              column.isName === true
                ? <th key={column.title} scope="row" role="rowheader">{column.cell(row)}</th>
                : <td key={column.title} role="cell" class={kind(column)} data-title={column.title}>{column.cell(row)}</td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
