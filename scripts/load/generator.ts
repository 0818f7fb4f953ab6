/**
 * The load generator, as a process of its own: keeps every connection busy with one request after the other
 * for a while, and reports how many were answered, with what status, and how long they took.
 */
import { assertTask, type Report, type Task } from "./Task.js"
import { Connection, post } from "./Connection.js"
import { batch, body } from "./Orders.js"

const bucketsUs = 1_000_000

const run = (task: Task): void => {
  const latencies = new Uint32Array(bucketsUs)
  const statuses: Record<string, number> = {}
  let answered = 0
  let lost = 0
  let entriesSeen = 0
  let entriesRejected = 0
  let open = task.connections
  const start = process.hrtime.bigint()
  const measureFrom = start + BigInt(Math.round(task.warmUpSeconds * 1e9))
  const end = measureFrom + BigInt(Math.round(task.seconds * 1e9))

  const finish = (): void => {
    if (--open > 0) return
    const report: Report = {
      answered,
      lost,
      seconds: task.seconds,
      statuses,
      entriesSeen,
      entriesRejected,
      p50Us: quantile(0.5),
      p99Us: quantile(0.99)
    }
    process.send!(report)
    process.disconnect()
  }

  const quantile = (of: number): number => {
    let left = answered * of
    for (let at = 0; at < bucketsUs; at++) {
      left -= latencies[at]!
      if (left <= 0) return at
    }
    return bucketsUs
  }

  for (let index = 0; index < task.connections; index++) {
    const looksInside = task.entries > 1 && index === 0
    const connection = new Connection(task.port, looksInside)
    const account = task.accounts[index % task.accounts.length]!
    let serial = task.firstSerial + index
    const next = (): void => {
      const sent = process.hrtime.bigint()
      if (sent >= end) {
        connection.close()
        finish()
        return
      }
      const text = task.entries > 1 ? batch(serial, task.entries) : body(account, serial)
      connection.request(
        post(task.path, account.apiKey, `${account.accountId}-${serial}`, text),
        (answer) => {
          const now = process.hrtime.bigint()
          if (sent >= measureFrom && now < end) {
            answered++
            statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
            if (looksInside && answer.status === 200) {
              entriesSeen += task.entries
              entriesRejected += answer.body.split("\"accepted\":false,\"name\"").length - 1
            }
            latencies[Math.min(bucketsUs - 1, Number((now - sent) / 1000n))]!++
          }
          next()
        },
        () => {
          lost++
          finish()
        }
      )
      serial += task.connections
    }
    next()
  }
}

process.once("message", (message) => run(assertTask(message)))
