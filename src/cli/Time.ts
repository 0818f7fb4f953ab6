/**
 * Times as a person writes them on a command line: ISO, in UTC where no zone is written, whatever the machine's own zone is. A date or a
 * time of day that does not exist is refused, and not taken for the next one that does.
 */
import * as Either from "effect/Either"

/** A date, or a date and a time of day with or without a zone. */
const shape = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/

/** A time in milliseconds since 1970, or what is wrong with the text, as a sentence. */
export const parse = (text: string): Either.Either<number, string> => {
  const [, date, clock = "00:00", zone = "Z"] = shape.exec(text) ?? []
  if (date === undefined) return Either.left(`${text} is no time as 2026-03-01T12:00:00Z (UTC where no zone is written)`)
  const local = `${date}T${clock}`
  const inUtc = Date.parse(`${local}Z`)
  // The thirtieth of February is read as a day in March.
  const isReal = !Number.isNaN(inUtc) && new Date(inUtc).toISOString().startsWith(local)
  return isReal ? Either.right(Date.parse(`${local}${zone}`)) : Either.left(`${text} does not exist`)
}
