/**
 * Sends expensive reads without waiting for their answers, 936 in a packet of 64 KiB on each connection, and the next packet once all are
 * answered, in a process of its own: reports how many were answered, and with what status.
 */
import * as net from "node:net"
import { symbol } from "./Orders.js"
import { Tally } from "./Tally.js"
import { assertTask, type Task } from "./Task.js"

const inPacket = 936
const packet = Buffer.from(`GET /v2/markets/${encodeURIComponent(symbol)}/book?limit=500 HTTP/1.1\r\nhost: a\r\n\r\n`.repeat(inPacket))
/** This text cannot occur in a book. */
const statusLine = /HTTP\/1\.1 ([0-9]{3})/g
/** A status line may arrive in two chunks: this many characters of a chunk are searched again with the next. */
const statusLength = "HTTP/1.1 200".length

const run = (task: Task): void => {
  const tally = new Tally(task)
  for (let index = 0; index < task.connections; index++) {
    const socket = net.connect(task.port, "127.0.0.1")
    let [due, sent, before] = [0, 0n, ""]
    const next = (): void => {
      sent = process.hrtime.bigint()
      due = inPacket
      if (tally.isOver(sent)) socket.end()
      else socket.write(packet)
    }
    socket.on("data", (chunk) => {
      const text = before + chunk.toString("latin1")
      for (const [, status] of text.matchAll(statusLine)) {
        tally.answer(sent, status!)
        due--
      }
      // A complete status line is not found twice.
      before = text.slice(-(statusLength - 1))
      if (due === 0) next()
    })
    socket.on("error", () => tally.lost++)
    socket.once("close", () => tally.finish())
    next()
  }
}

process.once("message", (message) => run(assertTask(message)))
