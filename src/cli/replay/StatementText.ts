/** A statement as CSV for a spreadsheet, and as JSON. */
import * as Format from "./Format.js"
import { addsUp, type Line, type Statement } from "./Statement.js"

const headings = "time,sequence,kind,market,side,quantity,price,reference,amount,balance"

const row = ({ amountAtoms, atEpochMs, balanceAtoms, kind, marketId, price, quantity, reference, sequence, side }: Line): string =>
  [
    Format.time(atEpochMs),
    sequence,
    kind,
    marketId,
    side,
    quantity,
    price,
    reference,
    Format.money(amountAtoms),
    Format.money(balanceAtoms)
  ].join(",")

/** Comma-separated values (RFC 4180), with one line for the opening and one for the closing balance. No value needs quotes. */
export const csv = ({ closingAtoms, lines, openingAtoms }: Statement): string =>
  [headings, `,,opening,,,,,,,${Format.money(openingAtoms)}`, ...lines.map(row), `,,closing,,,,,,,${Format.money(closingAtoms)}`].join("\n")

const money = (name: string, atoms: number) => ({ [name]: Format.money(atoms), [`${name}Atoms`]: String(atoms) })

const orNull = (text: string): string | null => text === "" ? null : text

/** The statement as a JSON report. */
export const report = (statement: Statement): object => ({
  report: "statement",
  accountId: statement.accountId,
  asset: "USDC",
  firstSequence: statement.first,
  lastSequence: statement.last,
  ...money("opening", statement.openingAtoms),
  lines: statement.lines.map(({ amountAtoms, atEpochMs, balanceAtoms, kind, marketId, price, quantity, reference, sequence, side }) => ({
    sequence,
    at: Format.time(atEpochMs),
    atEpochMs,
    kind,
    marketId: orNull(marketId),
    side: orNull(side),
    quantity: orNull(quantity),
    price: orNull(price),
    reference: orNull(reference),
    ...money("amount", amountAtoms),
    ...money("balance", balanceAtoms)
  })),
  ...money("closing", statement.closingAtoms),
  addsUp: addsUp(statement)
})
