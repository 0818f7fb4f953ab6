/**
 * Clients of the stream, in a process of their own: some follow a market's book, others an account's orders. It reports when frames
 * arrived, for every account and for one book in ten, by their sequences, in nanoseconds of the system's monotonic clock.
 */
import { marketId } from "./Orders.js"
import { StreamConnection, ticketOf } from "./StreamConnection.js"
import type { DemoAccount } from "./VenueProcess.js"

export interface Following {
  readonly port: number
  readonly books: number
  readonly accounts: ReadonlyArray<DemoAccount>
}

/** Pairs of sequences and times. */
export interface Arrivals {
  readonly books: ReadonlyArray<number>
  readonly accounts: ReadonlyArray<number>
}

/** One book in so many is recorded, and one in so many of its updates, so that recording costs little. */
const notedBooks = 10
const notedUpdates = 4

const sequenceOf = (frame: Buffer): number => {
  const at = frame.indexOf(`"sequence":`)
  let sequence = 0
  for (let digit = at + 11; frame[digit]! >= 48 && frame[digit]! <= 57; digit++) sequence = sequence * 10 + frame[digit]! - 48
  return sequence
}

const isUpdate = (frame: Buffer): boolean => frame.subarray(9, 15).equals(update)
const update = Buffer.from("update")

const arrived: { readonly books: Array<number>; readonly accounts: Array<number> } = { books: [], accounts: [] }

const follow = (port: number, account: DemoAccount | undefined, isNoted: boolean, begun: () => void): void => {
  const connection: StreamConnection = new StreamConnection(port, {
    text: (frame) => {
      if (isUpdate(frame)) {
        const sequence = sequenceOf(frame)
        if (account !== undefined) arrived.accounts.push(sequence, Number(process.hrtime.bigint()))
        else if (isNoted && sequence % notedUpdates === 0) arrived.books.push(sequence, Number(process.hrtime.bigint()))
        return
      }
      const { type } = JSON.parse(frame.toString()) as { readonly type: string }
      if (type === "hello" && account === undefined) {
        connection.send(JSON.stringify({ op: "subscribe", id: "b", channel: "market.book", marketId }))
        begun()
      } else if (type === "hello") {
        void ticketOf(port, account!).then((ticket) => connection.send(JSON.stringify({ op: "auth", id: "a", ticket })))
      } else if (type === "auth_ok") {
        connection.send(JSON.stringify({ op: "subscribe", id: "o", channel: "account.orders" }))
        begun()
      } else if (type.endsWith("error") || type === "resync") throw new Error(frame.toString())
    },
    ended: () => {
      throw new Error("a subscriber's connection ended")
    }
  })
}

process.on("message", (message: Following | "arrivals") => {
  if (message === "arrivals") return void process.send!(arrived, () => process.exit(0))
  let waiting = message.books + message.accounts.length
  const begun = (): void => {
    if (--waiting === 0) process.send!("open")
  }
  for (let book = 0; book < message.books; book++) follow(message.port, undefined, book % notedBooks === 0, begun)
  for (const account of message.accounts) follow(message.port, account, true, begun)
})
