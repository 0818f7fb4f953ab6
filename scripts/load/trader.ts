/**
 * The load generator for orders over the stream, in a process of its own: like `generator`, but with frames on connections that each act
 * for an account by a ticket. With several orders in progress, each answer makes room for the next order, as for a client that quotes
 * several prices.
 */
import { body } from "./Orders.js"
import { StreamConnection, ticketOf } from "./StreamConnection.js"
import { Tally } from "./Tally.js"
import { assertTask, type Task } from "./Task.js"
import type { DemoAccount } from "./VenueProcess.js"

interface Said {
  readonly type: string
  readonly error?: unknown
}

/** A connection that acts for an account, and the callback for its answers. */
interface Speaking {
  readonly connection: StreamConnection
  answered: (type: string, id: string) => void
  lost: () => void
}

/** The type of a frame, with which answers begin. */
const typeOf = (text: string): string => text.slice(9, text.indexOf("\"", 9))

const idMember = "\"id\":\""

/** The id of the frame that an answer refers to. */
const idOf = (text: string): string => {
  const from = text.indexOf(idMember) + idMember.length
  return text.slice(from, text.indexOf("\"", from))
}

const speak = (port: number, account: DemoAccount): Promise<Speaking> =>
  new Promise((resolve, reject) => {
    let speaking: Speaking | undefined
    const refuse = (text: string): void => reject(new Error(`no ticket was taken: ${text}`))
    const connection = new StreamConnection(port, {
      text: (bytes) => {
        const text = bytes.toString()
        const type = typeOf(text)
        if (type === "result" || type === "error") return speaking === undefined ? refuse(text) : speaking.answered(type, idOf(text))
        if (type === "hello") return void ticketOf(port, account).then((ticket) =>
            connection.send(JSON.stringify({ op: "auth", id: "a", ticket }))
          )
        const said = JSON.parse(text) as Said
        if (said.type === "auth_error") return refuse(text)
        if (said.type !== "auth_ok") return
        speaking = { connection, answered: () => {}, lost: () => {} }
        resolve(speaking)
      },
      ended: () => speaking === undefined ? reject(new Error("the connection ended")) : speaking.lost()
    })
  })

const run = async (task: Task): Promise<void> => {
  const all = await Promise.all(Array.from({ length: task.connections }, (_, index) => speak(task.port, accountOf(task, index))))
  const tally = new Tally(task)
  for (const [index, speaking] of all.entries()) {
    const account = accountOf(task, index)
    let serial = task.firstSerial + index
    let isDone = false
    const finish = (): void => {
      if (isDone) return
      isDone = true
      speaking.connection.close()
      tally.finish()
    }
    /** When each order in progress was sent, by its frame's id. */
    const underWay = new Map<string, bigint>()
    const next = (): void => {
      const now = process.hrtime.bigint()
      if (tally.isOver(now)) {
        if (underWay.size === 0) finish()
        return
      }
      underWay.set(String(serial), now)
      speaking.connection.send(
        `{"op":"place","id":"${serial}","idempotencyKey":"${account.accountId}-${serial}","body":${body(account, serial)}}`
      )
      serial += task.connections
    }
    speaking.answered = (type, id) => {
      const sent = underWay.get(id)
      if (sent === undefined) throw new Error(`nothing under way has the id ${id}`)
      underWay.delete(id)
      tally.answer(sent, type)
      next()
    }
    speaking.lost = () => {
      if (!isDone) tally.lost++
      finish()
    }
    speaking.connection.together(() => {
      for (let each = 0; each < (task.underWay ?? 1); each++) next()
    })
  }
}

const accountOf = (task: Task, index: number): DemoAccount => task.accounts[index % task.accounts.length]!

process.once("message", (message) => void run(assertTask(message)))
