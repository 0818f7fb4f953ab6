/**
 * What lies on a simulated disk: for every file the bytes that survive, those that reads see, and the writes between
 * them; for every directory the same of names. Knows what is left of it all when a process or the power ends.
 * Nothing here takes time or fails.
 */

/** What ends a process: `power` also loses what was not synced. */
export type Crash = "power" | "kill"

const sectorBytes = 512

/** A write that is not durable. */
export interface Write {
  readonly position: number
  readonly bytes: Uint8Array
  finished: boolean
}

/** What a name stands for: the bytes that survive, those that reads see, and what lies between. */
export interface Node {
  durable: Bytes
  current: Bytes
  unsynced: Array<Write>
}

/** Bytes that grow. */
export class Bytes {
  private held = new Uint8Array(0)
  length = 0

  write(position: number, bytes: Uint8Array): void {
    this.extend(position + bytes.length)
    this.held.set(bytes, position)
  }

  extend(length: number): void {
    if (length <= this.length) return
    if (length > this.held.length) {
      const larger = new Uint8Array(Math.max(length, this.held.length * 2))
      larger.set(this.held.subarray(0, this.length))
      this.held = larger
    }
    this.length = length
  }

  slice(start: number, end: number): Uint8Array {
    return this.held.slice(Math.min(start, this.length), Math.min(end, this.length))
  }

  flip(byte: number, bit: number): void {
    this.held[byte]! ^= 1 << bit
  }

  copy(): Bytes {
    const copy = new Bytes()
    copy.write(0, this.held.subarray(0, this.length))
    return copy
  }
}

/** A change of names in one directory. */
export type Change =
  | { readonly _tag: "Link"; readonly name: string; readonly node: Node }
  | { readonly _tag: "Unlink"; readonly name: string }
  | { readonly _tag: "Rename"; readonly from: string; readonly to: string; readonly node: Node }

export interface Directory {
  durable: Map<string, Node>
  current: Map<string, Node>
  unsynced: Array<Change>
}

const change = (names: Map<string, Node>, made: Change): void => {
  if (made._tag === "Unlink") names.delete(made.name)
  if (made._tag === "Link") names.set(made.name, made.node)
  if (made._tag === "Rename") {
    names.delete(made.from)
    names.set(made.to, made.node)
  }
}

export const split = (path: string): readonly [directory: string, name: string] => {
  const at = path.lastIndexOf("/")
  return at < 0 ? ["", path] : [path.slice(0, at), path.slice(at + 1)]
}

const newDirectory = (): Directory => ({ durable: new Map(), current: new Map(), unsynced: [] })

const writeAll = (into: Bytes, writes: ReadonlyArray<Write>): void => {
  for (const write of writes) into.write(write.position, write.bytes)
}

export class Platter {
  /** By path. Directories are taken to be durable once made: what is in them is not. */
  readonly directories = new Map<string, Directory>([["", newDirectory()]])
  /** How often something may have become durable, or changed there. */
  durableChanges = 0

  /** `random`: 0 to below 1; `whole`: the probability that a write which is not durable arrives wholly or not at all. */
  constructor(readonly random: () => number, readonly whole: () => number) {}

  chance(probability: number): boolean {
    return probability > 0 && this.random() < probability
  }

  /** The file at a path; throws where there is none. */
  nodeAt(path: string): Node {
    const [directory, name] = split(path)
    const node = this.directories.get(directory)?.current.get(name)
    if (node === undefined) throw new Error(`${path} is not on the disk`)
    return node
  }

  /** Bytes of all files together, as reads see them. */
  usedBytes(): number {
    const nodes = new Set<Node>()
    for (const directory of this.directories.values()) for (const node of directory.current.values()) nodes.add(node)
    let used = 0
    for (const node of nodes) used += node.current.length
    return used
  }

  /** Makes a directory, with all above it. */
  makeDirectory(path: string): void {
    const parts = path === "" ? [] : path.split("/")
    for (let depth = 1; depth <= parts.length; depth++) {
      const made = parts.slice(0, depth).join("/")
      if (!this.directories.has(made)) this.directories.set(made, newDirectory())
    }
  }

  /** Puts a file there, durably. */
  put(path: string, bytes: Uint8Array): void {
    const [directory, name] = split(path)
    this.makeDirectory(directory)
    const node: Node = { durable: new Bytes(), current: new Bytes(), unsynced: [] }
    node.durable.write(0, bytes)
    node.current.write(0, bytes)
    this.#everywhere(directory, { _tag: "Link", name, node })
  }

  /** Takes a file away, durably. */
  takeAway(path: string): void {
    const [directory, name] = split(path)
    this.#everywhere(directory, { _tag: "Unlink", name })
  }

  #everywhere(path: string, made: Change): void {
    this.durableChanges++
    const directory = this.directories.get(path)!
    change(directory.durable, made)
    change(directory.current, made)
  }

  /** Changes a name, not durably. */
  apply(directory: Directory, made: Change): void {
    change(directory.current, made)
    directory.unsynced.push(made)
  }

  /** Makes changes of names durable. */
  syncNames(directory: Directory, covered: ReadonlyArray<Change>): void {
    this.durableChanges++
    for (const made of covered) change(directory.durable, made)
    directory.unsynced = directory.unsynced.filter((made) => !covered.includes(made))
  }

  /** Makes writes durable. */
  sync(node: Node, covered: ReadonlyArray<Write>): void {
    this.durableChanges++
    for (const write of covered) node.durable.write(write.position, write.bytes)
    node.unsynced = node.unsynced.filter((write) => !covered.includes(write))
  }

  /** Makes any of the writes' sectors durable and forgets about the rest: reads go on to show it. */
  failSync(node: Node, covered: ReadonlyArray<Write>): void {
    this.durableChanges++
    for (const write of covered) writeAll(node.durable, this.#scatter(write))
    node.unsynced = node.unsynced.filter((write) => !covered.includes(write))
  }

  /** Ends an unfinished write: reads see what of it arrived, and a sync would make that durable. */
  breakOff(node: Node, write: Write): void {
    const arrived = this.#scatter(write)
    writeAll(node.current, arrived)
    node.unsynced = node.unsynced.flatMap((each) => each === write ? arrived : each)
  }

  /** Another sector of the file, where the write fits; the next one where there is no room before. */
  elsewhere(node: Node, position: number, length: number): number {
    const places = Math.max(1, Math.floor((node.current.length - length) / sectorBytes) + 1)
    const place = Math.floor(this.random() * places) * sectorBytes
    return place === position ? position + sectorBytes : place
  }

  losePower(): void {
    this.durableChanges++
    for (const directory of this.directories.values()) {
      const survives = Math.floor(this.random() * (directory.unsynced.length + 1))
      for (const made of directory.unsynced.slice(0, survives)) change(directory.durable, made)
      directory.current = new Map(directory.durable)
      directory.unsynced = []
      for (const node of new Set(directory.current.values())) {
        for (const write of this.#shuffled(node.unsynced)) writeAll(node.durable, this.#scatter(write))
        node.current = node.durable.copy()
        node.unsynced = []
      }
    }
  }

  /** What had not finished when the process was killed is anyone's guess; the rest stays as reads saw it. */
  killProcess(): void {
    for (const directory of this.directories.values()) {
      for (const node of new Set(directory.current.values())) {
        for (const write of node.unsynced.filter((each) => !each.finished)) this.breakOff(node, write)
      }
    }
  }

  /** Any of a write's sectors. */
  #scatter(write: Write): Array<Write> {
    const whole = this.chance(this.whole())
    const arrives = this.chance(0.5)
    const end = write.position + write.bytes.length
    const arrived: Array<Write> = []
    for (let at = write.position; at < end;) {
      const next = Math.min(end, (Math.floor(at / sectorBytes) + 1) * sectorBytes)
      if (whole ? arrives : this.chance(0.5)) {
        arrived.push({ position: at, bytes: write.bytes.subarray(at - write.position, next - write.position), finished: true })
      }
      at = next
    }
    return arrived
  }

  #shuffled<A>(items: ReadonlyArray<A>): Array<A> {
    const shuffled = [...items]
    for (let index = shuffled.length - 1; index > 0; index--) {
      const other = Math.floor(this.random() * (index + 1))
      ;[shuffled[index], shuffled[other]] = [shuffled[other]!, shuffled[index]!]
    }
    return shuffled
  }
}
