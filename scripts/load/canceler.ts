/**
 * Places orders that rest and cancels them one after another, repeatedly, on a connection of its own and in a process of its own: reports
 * the response times of the cancels.
 */
import { Connection, post } from "./Connection.js"
import { marketId, touch } from "./Orders.js"
import { assertTask, type Report, type Task } from "./Task.js"

/** The shortest time between cancels, in milliseconds: this client manages its orders and creates no load. */
const pauseMs = 5

/** Orders that are placed for the cancels that follow. */
const ordersAtOnce = 32

/** A bid that rests far below the common price. */
const resting = (accountId: string, serial: string): string =>
  `{"accountId":"${accountId}","marketId":"${marketId}","clientOrderId":"rest-${serial}","side":"buy","orderType":"limit",`
  + `"price":"${touch - 5_000}.0","quantity":"0.001"}`

const run = (task: Task): void => {
  const account = task.accounts[0]!
  const connection = new Connection(task.port, true)
  /** The body of every cancel. */
  const canceling = `{"accountId":"${account.accountId}","marketId":"${marketId}"}`
  const latenciesUs: Array<number> = []
  const statuses: Record<string, number> = {}
  const measureFrom = process.hrtime.bigint() + BigInt(Math.round(task.warmUpSeconds * 1e9))
  const end = measureFrom + BigInt(Math.round(task.seconds * 1e9))
  let serial = task.firstSerial
  let lost = 0

  const finish = (): void => {
    connection.close()
    latenciesUs.sort((one, other) => one - other)
    const quantile = (of: number): number => latenciesUs[Math.min(latenciesUs.length - 1, Math.floor(latenciesUs.length * of))] ?? 0
    const report: Report = {
      answered: latenciesUs.length,
      sent: latenciesUs.length,
      lost,
      seconds: task.seconds,
      statuses,
      entriesSeen: 0,
      entriesRejected: 0,
      p50Us: quantile(0.5),
      p99Us: quantile(0.99)
    }
    process.send!(report)
    process.disconnect()
  }

  const lose = (): void => {
    lost++
    finish()
  }

  const pending: Array<string> = []

  const cancel = (): void => {
    const orderId = pending.pop()
    if (orderId === undefined) return place()
    serial++
    const sent = process.hrtime.bigint()
    connection.request(post(`/v1/orders/${orderId}/cancel`, account.apiKey, `cancel-${serial}`, canceling), ({ status }) => {
      const now = process.hrtime.bigint()
      if (sent >= measureFrom) {
        statuses[status] = (statuses[status] ?? 0) + 1
        latenciesUs.push(Number((now - sent) / 1000n))
      }
      if (now >= end) finish()
      else setTimeout(cancel, pauseMs)
    }, lose)
  }

  /** Places orders for the cancels to come: one request, whose response time does not matter. */
  const place = (): void => {
    serial++
    const orders = Array.from({ length: ordersAtOnce }, (_, index) => resting(account.accountId, `${serial}-${index}`))
    const text = `{"orders":[${orders.join(",")}]}`
    connection.request(post("/v1/orders/batch", account.apiKey, `rest-${serial}`, text), ({ body, status }) => {
      // A placement may be refused for want of room while the venue is overloaded; only the cancels are measured.
      if (status === 200) pending.push(...[...body.matchAll(/"orderId":"([^"]+)"/g)].map((match) => match[1]!))
      if (process.hrtime.bigint() >= end) finish()
      else setTimeout(cancel, pauseMs)
    }, lose)
  }
  // Orders left open by earlier runs would eventually use up the account's limit.
  connection.request(post("/v1/orders/cancel-all", account.apiKey, `all-${serial}`, canceling), ({ status }) => {
    if (status === 200) place()
    else lose()
  }, lose)
}

process.once("message", (message) => run(assertTask(message)))
