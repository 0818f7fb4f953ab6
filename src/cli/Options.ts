/** Options that several tools share. */
import * as CliOptions from "@effect/cli/Options"
import * as Config from "effect/Config"
import { filled } from "../SettingTexts.js"

/** The directory that a tool works on, by default the venue's own. */
export const dataOf = (description: string) =>
  CliOptions.text("data").pipe(
    CliOptions.withDescription(description),
    CliOptions.withFallbackConfig(filled("DATA_DIR").pipe(Config.withDefault("./data")))
  )

export const data = dataOf("The venue's data directory (DATA_DIR, or ./data)")

/** An optional text. */
export const named = (name: string, description: string) =>
  CliOptions.text(name).pipe(CliOptions.withDescription(description), CliOptions.optional)
