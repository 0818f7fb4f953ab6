/** Runs the bare server for comparison with the HTTP figures, in a process of its own. */
import { fork } from "node:child_process"

export const startBare = async (): Promise<{ readonly port: number; readonly stop: () => void }> => {
  const child = fork("dist/scripts/load/bare.js")
  const port = await new Promise<number>((resolve) => child.once("message", (message) => resolve(message as number)))
  return { port, stop: () => child.disconnect() }
}
