/**
 * The load generator, in a process of its own: keeps every connection busy with one request after another for a while, and reports how many
 * were answered, with what status, and how long they took.
 */
import { assertTask, type Task } from "./Task.js"
import { Connection, post } from "./Connection.js"
import { batch, body } from "./Orders.js"
import { Tally } from "./Tally.js"

const run = (task: Task): void => {
  const tally = new Tally(task)
  for (let index = 0; index < task.connections; index++) {
    const looksInside = task.entries > 1 && index === 0
    const connection = new Connection(task.port, looksInside)
    const account = task.accounts[index % task.accounts.length]!
    let serial = task.firstSerial + index
    const next = (): void => {
      const sent = process.hrtime.bigint()
      if (tally.isOver(sent)) {
        connection.close()
        tally.finish()
        return
      }
      const text = task.entries > 1 ? batch(serial, task.entries) : body(account, serial)
      connection.request(
        post(task.path, account.apiKey, `${account.accountId}-${serial}`, text),
        (answer) => {
          if (tally.answer(sent, answer.status) && looksInside && answer.status === 200) {
            tally.entriesSeen += task.entries
            tally.entriesRejected += answer.body.split("\"accepted\":false,\"name\"").length - 1
          }
          next()
        },
        () => {
          tally.lost++
          tally.finish()
        }
      )
      serial += task.connections
    }
    next()
  }
}

process.once("message", (message) => run(assertTask(message)))
