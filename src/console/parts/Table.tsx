/**
 * A table where there is room, and a list of labelled values where there is not. Roles are given explicitly, because browsers drop those of
 * a table with another layout.
 */
import type { ComponentChildren } from "preact"

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Aligned right, so that digits line up. */
  readonly isNumber?: boolean
  /** Actions for the row: the title is for screen readers only. */
  readonly isAction?: boolean
  /** The row's header. */
  readonly isName?: boolean
}

interface Props<Row> {
  readonly label: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly keyOf: (row: Row) => string | number
  /** Shown instead of an empty table. */
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
