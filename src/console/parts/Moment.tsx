/** A moment in the reader's own time zone and manner, with the exact one for machines and whoever points at it. */

const shown = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })
const precise = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" })
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" })

interface Props {
  /** Null where it has not been. */
  readonly atEpochMs: number | null
  /** The time of day alone. */
  readonly ofDay?: boolean
}

export const Moment = ({ atEpochMs, ofDay = false }: Props) => {
  if (atEpochMs === null) return <span class="soft">never</span>
  const at = new Date(atEpochMs)
  return <time dateTime={at.toISOString()} title={precise.format(at)}>{(ofDay ? clock : shown).format(at)}</time>
}
