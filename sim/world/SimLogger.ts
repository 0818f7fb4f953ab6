/**
 * The log of a simulated process, line by line, and what a line says of a defect: one that was caught and logged, or one that ended a fiber
 * for which nobody waits, of which the log of a real venue says nothing.
 */
import { Cause, Layer, Logger, LogLevel } from "effect"

/** Takes a line, and where it tells of a defect, that. */
export type Log = (line: string, defect?: string) => void

const defectOf = (cause: Cause.Cause<unknown>, message: ReadonlyArray<unknown>, isError: boolean): string | undefined => {
  if (Cause.isDie(cause)) return Cause.pretty(cause)
  const thrown = isError ? message.find((part) => part instanceof Error) : undefined
  return thrown === undefined ? undefined : Cause.pretty(Cause.die(thrown))
}

/** The logger of a process: `lineOf` makes a line of its log of a level and a message. */
export const layer = (log: Log, lineOf: (level: string, message: string) => string): Layer.Layer<never> =>
  Layer.merge(
    Logger.replace(Logger.defaultLogger, Logger.make(({ cause, logLevel, message }) => {
      const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
      const defect = defectOf(cause, parts, LogLevel.greaterThanEqual(logLevel, LogLevel.Error))
      if (defect !== undefined || LogLevel.greaterThanEqual(logLevel, LogLevel.Info)) log(lineOf(logLevel.label, String(message)), defect)
    })),
    // The runtime tells of a fiber's end at a level that is left out by default.
    Logger.minimumLogLevel(LogLevel.Debug)
  )
