/** Which clients get a connection, and which existing one makes way for a newcomer. */
import * as Net from "node:net"
import { afterEach, expect, test } from "vitest"
import { type Connection, Connections, originOf } from "../../../src/edge/http/Connections.js"
import * as NodeDescriptors from "../../../src/edge/http/NodeDescriptors.js"
import * as Fake from "../FakeVenue.js"
import { closeAll, exchange, serve, statusOf } from "./NodeServed.js"

afterEach(closeAll)

const made = (limit: number, share: number) => {
  const left: Array<string> = []
  const pressed: Array<string> = []
  const busy = new Set<string>()
  const anonymous = new Set<string>()
  const connections = new Connections(limit, share, (origin) => pressed.push(origin))
  const originIn = (name: string): string => name.includes(":") ? name : name[0]!
  const come = (name: string): { readonly admitted: boolean; readonly connection: Connection } => {
    const connection: Connection = {
      origin: originIn(name),
      isIdle: () => !busy.has(name),
      isAnonymous: () => anonymous.has(name),
      isSilent: () => false,
      destroy: () => left.push(name)
    }
    return { connection, admitted: connections.admit(connection) }
  }
  return { anonymous, busy, come, connections, left, pressed }
}

test("an address at its share gives up its own longest quiet connection, and nobody else's", () => {
  const { come, connections, left, pressed } = made(10, 2)
  come("z1")
  const first = come("a1").connection
  come("a2")
  connections.quieted(first)
  expect(come("a3").admitted).toBe(true)
  expect(left).toEqual(["a2"])
  expect({ size: connections.size, closed: connections.closedForRoom, pressed }).toEqual({ size: 3, closed: 1, pressed: ["a"] })
})

test("at the limit the longest quiet connection of all leaves, busy ones never do, and without one the newcomer is turned away", () => {
  const { busy, come, connections, left } = made(3, 2)
  for (const name of ["a1", "b1", "c1"]) come(name)
  busy.add("a1")
  expect(come("d1").admitted).toBe(true)
  expect(left).toEqual(["b1"])
  for (const name of ["c1", "d1"]) busy.add(name)
  expect(come("e1").admitted).toBe(false)
  expect(connections.turnedAway).toBe(1)
  busy.delete("a1")
  expect(come("e2").admitted).toBe(true)
  expect(left).toEqual(["b1", "a1"])
})

test("where none is quiet the one that has spoken for nobody for longest leaves", () => {
  const { anonymous, busy, come, left } = made(4, 4)
  for (const name of ["a1", "b1", "c1", "d1"]) {
    come(name)
    busy.add(name)
  }
  anonymous.add("b1").add("c1")
  busy.delete("d1")
  for (const name of ["e1", "e2", "e3"]) {
    expect(come(name).admitted).toBe(true)
    busy.add(name)
  }
  expect(left).toEqual(["d1", "b1", "c1"])
  expect(come("e4").admitted).toBe(false)
})

test("a network has a quarter of all, however many addresses it has, and gives up its own longest quiet one beyond", () => {
  const { come, connections, left } = made(12, 3)
  come("z1")
  for (const at of [1, 2, 3]) come(`2001:db8:1:${at}::/64`)
  expect(come("2001:db8:1:4::/64").admitted).toBe(true)
  expect(left).toEqual(["2001:db8:1:1::/64"])
  expect(come("2001:db8:2:1::/64").admitted).toBe(true)
  expect({ left: left.length, size: connections.size }).toEqual({ left: 1, size: 5 })
})

test("a newcomer costs a look at so many connections and no more, and the next one goes on from there", () => {
  let looks = 0
  const connections = new Connections(1_000, 1_000, () => {})
  const busy = (origin: string): Connection => ({
    origin,
    isIdle: () => {
      looks++
      return origin === "idle"
    },
    isAnonymous: () => false,
    isSilent: () => false,
    destroy: () => {}
  })
  for (let at = 0; at < 1_000; at++) connections.admit(busy(at === 700 ? "idle" : "busy"))
  expect([connections.admit(busy("new")), looks]).toEqual([false, 256])
  expect([connections.admit(busy("new")), looks]).toEqual([false, 512])
  expect([connections.admit(busy("new")), looks]).toEqual([true, 701])
})

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::FFFF:192.0.2.1", "192.0.2.1"],
  ["::ffff:c000:201", "192.0.2.1"],
  ["0:0:0:0:0:ffff:C000:0201", "192.0.2.1"],
  ["0000:0000:0000:0000:0000:ffff:192.0.2.1", "192.0.2.1"],
  ["::fffe:192.0.2.1", "0:0:0:0::/64"],
  ["1::ffff:192.0.2.1", "1:0:0:0::/64"],
  ["2001:0DB8:0001:2::5", "2001:db8:1:2::/64"],
  ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"]
])("%s shares as %s", (address, origin) => {
  expect(originOf(address)).toBe(origin)
})

test("a client with all connections of an address open still gets in, and what is under way is answered", async () => {
  const fake = Fake.make()
  fake.hold = true
  const { counts, port } = await serve(fake.application, { connectionLimit: 8, connectionsPerAddress: 4 })
  const waiting = exchange(port, "GET /v1/markets HTTP/1.1\r\nhost: x\r\n\r\n", 3_000)
  await expect.poll(() => counts().open).toBe(1)
  const idle = Array.from({ length: 20 }, () => Net.connect(port, "127.0.0.1").on("error", () => {}))
  await expect.poll(() => counts().closedForRoom).toBe(17)
  expect(counts()).toEqual({ open: 4, accepted: 21, closedForRoom: 17, turnedAway: 0 })
  expect(statusOf((await exchange(port, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")).text)).toBe(200)
  fake.release()
  expect(statusOf((await waiting).text)).toBe(200)
  for (const socket of idle) socket.destroy()
})

test("connections leave the journal its files", () => {
  const text = "Limit                     Soft Limit           Hard Limit           Units     \n"
    + "Max open files            1024                 524288               files     \n"
  expect(NodeDescriptors.parse(text)).toBe(1024)
  expect(NodeDescriptors.parse(text.replace("1024     ", "unlimited"))).toBe(undefined)
  expect(NodeDescriptors.connectionsWithin(10_000, 1_024)).toBe(704)
  expect(NodeDescriptors.connectionsWithin(500, 1_024)).toBe(500)
  expect(NodeDescriptors.connectionsWithin(10_000, 100)).toBe(0)
  expect(NodeDescriptors.connectionsWithin(10_000, undefined)).toBe(10_000)
})
