/** A time in the reader's time zone and format, with the exact time for machines and in the tooltip. */

const shown = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })
const precise = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" })
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" })

interface Props {
  /** Null where it has not happened. */
  readonly atEpochMs: number | null
  /** Shows only the time of day. */
  readonly ofDay?: boolean
}

export const Moment = ({ atEpochMs, ofDay = false }: Props) => {
  if (atEpochMs === null) return <span class="soft">never</span>
  const at = new Date(atEpochMs)
  return <time dateTime={at.toISOString()} title={precise.format(at)}>{(ofDay ? clock : shown).format(at)}</time>
}
