/**
 * The development ledger in a thread of its own: it answers requests one after another, each once its input is on the disk. A disk that
 * does not answer holds up nothing else.
 */
import { randomBytes } from "node:crypto"
import { parentPort, workerData } from "node:worker_threads"
import { assert } from "../../domain/Assert.js"
import { DevelopmentLedger } from "./DevelopmentLedger.js"
import type { Answer, Asked, Begun, Unopened } from "./NodeLedgerClient.js"
import { open, StoreUnreadable } from "./NodeStore.js"
import { setting } from "./Setting.js"

assert(parentPort !== null, "it is started as a thread")
const port = parentPort

const answer = (ledger: DevelopmentLedger, { epochMs, id, question }: Asked): Answer => {
  try {
    return { id, handled: ledger.handle(question, { epochMs, bytes: (count) => randomBytes(count) }) }
  } catch (cause) {
    // The input could not be stored.
    return { id, failure: String(cause) }
  }
}

const begin = ({ file, script }: Begun): void => {
  const store = open(file)
  const ledger = new DevelopmentLedger(setting, store, script)
  port.on("message", (asked: Asked | "close") => {
    if (asked !== "close") return port.postMessage(answer(ledger, asked))
    store.close()
    port.close()
  })
}

try {
  begin(workerData as Begun)
  port.postMessage("open")
} catch (cause) {
  port.postMessage({ reason: cause instanceof StoreUnreadable ? cause.reason : String(cause) } satisfies Unopened)
}
