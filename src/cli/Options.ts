/** Options that several tools share. */
import * as CliOptions from "@effect/cli/Options"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as ValidationError from "@effect/cli/ValidationError"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { filled, inWords } from "../SettingTexts.js"

/** `DATA_DIR`, or the usual directory. A wrong one is told as at a start. */
export const usualData = inWords(filled("DATA_DIR").pipe(Config.withDefault("./data")))

/** The usual directory, with what is wrong with it in words for the parser, which would say Effect's own words itself. */
const dataDir = Effect.mapError(usualData, ({ message }) => ValidationError.invalidValue(HelpDoc.p(message)))

/** The directory that a tool works on, by default the venue's own. */
export const dataOf = (description: string) =>
  CliOptions.text("data").pipe(
    CliOptions.withDescription(description),
    CliOptions.optional,
    CliOptions.mapEffect(Option.match({ onNone: () => dataDir, onSome: (text) => Effect.succeed(text) }))
  )

/** An optional text. */
export const named = (name: string, description: string) =>
  CliOptions.text(name).pipe(CliOptions.withDescription(description), CliOptions.optional)

const ofVenue = "The venue's data directory (DATA_DIR, or ./data)"
export const data = dataOf(ofVenue)
/** The venue's data directory, for a tool that may do without. */
export const namedData = named("data", ofVenue)
