/**
 * The content of a simulated disk: for every file the bytes that survive a crash, those that reads see, and the writes in between; for
 * every directory the same for names. Decides what is left when a process or the power ends. Nothing here takes time or fails.
 */

/** What ends a process: `power` also loses what was not synced. */
export type Crash = "power" | "kill"

const sectorBytes = 512

/** A write that is not durable yet. */
export interface Write {
  readonly position: number
  readonly bytes: Uint8Array
  finished: boolean
  /** Whether reads see it already, in full. */
  isSeen?: boolean
}

/** The content of a file: the bytes that survive, those that reads see, and the writes in between. */
export interface Node {
  durable: Bytes
  current: Bytes
  unsynced: Array<Write>
}

/** A growing array of bytes. */
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

  /** Copies what there is from `start` on into other memory, as much as fits. Returns how many bytes that are. */
  copyTo(into: Uint8Array, start: number): number {
    const found = this.held.subarray(Math.min(start, this.length), Math.min(start + into.length, this.length))
    into.set(found)
    return found.length
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
  | { readonly _tag: "MakeDirectory"; readonly path: string }

export interface Directory {
  /** Whether its own name survives a crash. */
  isDurable: boolean
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

/** A change of names, with its file replaced by a copy. */
const ofCopy = (made: Change, copyOf: (node: Node) => Node): Change =>
  made._tag === "Link" || made._tag === "Rename" ? { ...made, node: copyOf(made.node) } : made

export const split = (path: string): readonly [directory: string, name: string] => {
  const at = path.lastIndexOf("/")
  return at < 0 ? ["", path] : [path.slice(0, at), path.slice(at + 1)]
}

const newDirectory = (isDurable: boolean): Directory => ({ isDurable, durable: new Map(), current: new Map(), unsynced: [] })

const writeAll = (into: Bytes, writes: ReadonlyArray<Write>): void => {
  for (const write of writes) into.write(write.position, write.bytes)
}

export class Platter {
  /** By path. All but the root come and go like files. */
  readonly directories = new Map<string, Directory>([["", newDirectory(true)]])
  private astray: { readonly node: Node; readonly write: Write } | undefined = undefined
  /** How often durable content may have grown or changed. */
  durableChanges = 0

  /** `random`: 0 to below 1; `whole`: the probability that a write which is not durable arrives in full or not at all. */
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

  /** Saves the present content; the returned function restores it. */
  checkpoint(): () => void {
    const copies = new Map<Node, Node>()
    const copyOf = (node: Node): Node => {
      const made = copies.get(node) ?? { durable: node.durable.copy(), current: node.current.copy(), unsynced: [...node.unsynced] }
      copies.set(node, made)
      return made
    }
    const names = (of: Map<string, Node>): Map<string, Node> => new Map([...of].map(([name, node]) => [name, copyOf(node)]))
    const kept = [...this.directories].map(([path, { current, durable, isDurable, unsynced }]) =>
      [path, {
        isDurable,
        durable: names(durable),
        current: names(current),
        unsynced: unsynced.map((made) => ofCopy(made, copyOf))
      }] as const
    )
    return () => {
      this.durableChanges++
      this.directories.clear()
      for (const [path, directory] of kept) this.directories.set(path, directory)
    }
  }

  /** The present path of a file that was opened under another; the old path where its name is gone. */
  pathOf(opened: string, node: Node): string {
    const [directory, name] = split(opened)
    const names = this.directories.get(directory)?.current
    if (names === undefined || names.get(name) === node) return opened
    for (const [now, other] of names) if (other === node) return `${directory}/${now}`
    return opened
  }

  /** The size of all files together, as reads see them, bytes. */
  usedBytes(): number {
    const nodes = new Set<Node>()
    for (const directory of this.directories.values()) for (const node of directory.current.values()) nodes.add(node)
    let used = 0
    for (const node of nodes) used += node.current.length
    return used
  }

  /** Makes a directory and its parents. */
  makeDirectory(path: string): void {
    const parts = path === "" ? [] : path.split("/")
    for (let depth = 1; depth <= parts.length; depth++) {
      const made = parts.slice(0, depth).join("/")
      if (this.directories.has(made)) continue
      this.directories.set(made, newDirectory(false))
      this.directories.get(split(made)[0])!.unsynced.push({ _tag: "MakeDirectory", path: made })
    }
  }

  /** Creates a file, durably. */
  put(path: string, bytes: Uint8Array): void {
    const [directory, name] = split(path)
    this.makeDirectory(directory)
    const node: Node = { durable: new Bytes(), current: new Bytes(), unsynced: [] }
    node.durable.write(0, bytes)
    node.current.write(0, bytes)
    this.#everywhere(directory, { _tag: "Link", name, node })
  }

  /** Removes a file, durably. */
  takeAway(path: string): void {
    const [directory, name] = split(path)
    this.#everywhere(directory, { _tag: "Unlink", name })
  }

  /** Takes a file's name away, not durably. It has another one from then on, durably, where `to` is given. */
  takeName(path: string, to: string | undefined): void {
    const [directory, name] = split(path)
    if (to !== undefined) this.#everywhere(split(to)[0], { _tag: "Link", name: split(to)[1], node: this.nodeAt(path) })
    this.apply(this.directories.get(directory)!, { _tag: "Unlink", name })
  }

  /** Gives a file a further name, not durably. */
  link(path: string, to: string): void {
    const [directory, name] = split(to)
    this.apply(this.directories.get(directory)!, { _tag: "Link", name, node: this.nodeAt(path) })
  }

  /** Moves a directory in which there are no others, durably. */
  moveDirectory(from: string, to: string): void {
    this.durableChanges++
    this.directories.set(to, this.directories.get(from)!)
    this.directories.delete(from)
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
    for (const made of covered) this.#survive(directory, made)
    directory.unsynced = directory.unsynced.filter((made) => !covered.includes(made))
  }

  /**
   * Makes the first of the changes of names durable and forgets the rest, which the directory continues to show. Only directories that
   * were made are made durable by the next sync all the same.
   */
  failSyncNames(directory: Directory, covered: ReadonlyArray<Change>): void {
    const survives = Math.floor(this.random() * (covered.length + 1))
    this.syncNames(directory, covered.slice(0, survives))
    directory.unsynced = directory.unsynced.filter((made) => made._tag === "MakeDirectory" || !covered.includes(made))
  }

  /** Makes writes durable. */
  sync(node: Node, covered: ReadonlyArray<Write>): void {
    this.durableChanges++
    for (const write of covered) node.durable.write(write.position, write.bytes)
    node.unsynced = node.unsynced.filter((write) => !covered.includes(write))
  }

  /** Makes some sectors of the writes durable and forgets the rest, which reads continue to show. */
  failSync(node: Node, covered: ReadonlyArray<Write>): void {
    this.durableChanges++
    for (const write of covered) writeAll(node.durable, this.#scatter(write))
    node.unsynced = node.unsynced.filter((write) => !covered.includes(write))
  }

  /** Makes one write durable, and drops older writes to the same place: nothing of them can arrive later. */
  syncWrite(node: Node, write: Write): void {
    this.#supersede(node, write)
    this.sync(node, [write])
  }

  /** Treats one write as `failSync` does, and drops older writes to the same place: nothing of them can arrive later. */
  failSyncOf(node: Node, write: Write): void {
    this.#supersede(node, write)
    this.failSync(node, [write])
  }

  /** Removes the range of a write from older writes that are not durable yet. */
  #supersede(node: Node, over: Write): void {
    const end = over.position + over.bytes.length
    node.unsynced = node.unsynced.flatMap((each) => {
      if (each === over) return [each]
      const { bytes, finished, position } = each
      const before = bytes.subarray(0, Math.max(0, over.position - position))
      const behind = bytes.subarray(Math.max(0, end - position))
      if (before.length + behind.length >= bytes.length) return [each]
      return [{ position, bytes: before, finished }, { position: position + bytes.length - behind.length, bytes: behind, finished }]
        .filter(({ bytes: left }) => left.length > 0)
    })
  }

  /** Lets reads see an unfinished write. */
  show(node: Node, write: Write): void {
    node.current.write(write.position, write.bytes)
    write.isSeen = true
  }

  /** Ends an unfinished write: reads see the part that arrived, and a sync would make it durable. */
  breakOff(node: Node, write: Write): void {
    const arrived = this.#scatter(write)
    writeAll(node.current, arrived)
    node.unsynced = node.unsynced.flatMap((each) => each === write ? arrived : each)
  }

  /** Another sector of the file at which the write fits; the following one where there is no room before. */
  elsewhere(node: Node, position: number, length: number): number {
    const places = Math.max(1, Math.floor((node.current.length - length) / sectorBytes) + 1)
    const place = Math.floor(this.random() * places) * sectorBytes
    return place === position ? position + sectorBytes : place
  }

  /** Notes the latest write that went astray. */
  noteAstray(node: Node, write: Write): void {
    this.astray = { node, write }
  }

  /** Whether the bytes of the latest write that went astray are still there: a later write may have replaced them. */
  astrayStands(): boolean {
    if (this.astray === undefined) return false
    const { node, write: { bytes, position } } = this.astray
    return Buffer.compare(node.current.slice(position, position + bytes.length), bytes) === 0
  }

  losePower(): void {
    this.durableChanges++
    for (const directory of this.directories.values()) {
      const survives = Math.floor(this.random() * (directory.unsynced.length + 1))
      for (const made of directory.unsynced.slice(0, survives)) this.#survive(directory, made)
      for (const made of directory.unsynced.slice(survives)) if (made._tag === "MakeDirectory") this.#forget(made.path)
      directory.current = new Map(directory.durable)
      directory.unsynced = []
      for (const node of new Set(directory.current.values())) {
        for (const write of this.#shuffled(node.unsynced)) writeAll(node.durable, this.#scatter(write))
        node.current = node.durable.copy()
        node.unsynced = []
      }
    }
  }

  /** Makes a change of names durable. */
  #survive(directory: Directory, made: Change): void {
    if (made._tag !== "MakeDirectory") return change(directory.durable, made)
    const its = this.directories.get(made.path)
    if (its !== undefined) its.isDurable = true
  }

  /** Removes a directory whose name was lost, with everything below it. */
  #forget(path: string): void {
    for (const each of [...this.directories.keys()]) {
      if (each === path || each.startsWith(`${path}/`)) this.directories.delete(each)
    }
  }

  /** Whether the names of a directory and all its parents survive any crash. */
  isDurable(path: string): boolean {
    return path === "" || this.directories.get(path)?.isDurable === true && this.isDurable(split(path)[0])
  }

  /** Of the killed process's unfinished writes any part may have arrived; everything else stays as reads saw it. */
  killProcess(): void {
    for (const directory of this.directories.values()) {
      for (const node of new Set(directory.current.values())) {
        for (const write of node.unsynced.filter((each) => !each.finished)) {
          if (write.isSeen === true) write.finished = true
          else this.breakOff(node, write)
        }
      }
    }
  }

  /** A random choice of a write's sectors. */
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
