/**
 * A bounded table in which anybody may take a place without a credential. Each address may hold only so many: beyond that it loses its own
 * oldest. Where the table is full, a newcomer gets the oldest place of the network that holds most, so that whoever floods the table crowds
 * out only himself, and newcomers with few places are never refused.
 *
 * Addresses and their networks are those of requests. Where only accounts can take a place, an account's number stands for the address: it
 * is a network of its own.
 */
import { Multimap } from "./Multimap.js"

/**
 * The network of an address as rate limits count it. An IPv6 address, given as its first 64 bits, belongs to the network of the first 48,
 * which a single customer may have. An IPv4 address is a network of its own.
 */
export const networkOf = (address: string): string => address.endsWith("::/64") ? `${address.split(":", 3).join(":")}::/48` : address

/** Why a place was lost to a newcomer: its address held too many, or the table was full. */
export type Crowd = "address" | "all"

export class FairPlaces<Id> {
  private readonly addressOf = new Map<Id, string>()
  private readonly byAddress = new Multimap<string, Id>()
  private readonly byNetwork = new Multimap<string, Id>()
  /** Networks by the number of places they hold, and the largest such number. */
  private readonly bySize = new Multimap<number, string>()
  private largest = 0

  constructor(private readonly most: number, private readonly mostOfAddress: number) {}

  /** Whether somebody holds a place. */
  has(id: Id): boolean {
    return this.addressOf.has(id)
  }

  /**
   * Whether a place is free, or a network holds so many more than that of an address that it keeps at least as many where it loses one to
   * it. Where newcomers are only let in then, whoever has lost a place is not let in again at once: otherwise those who come again would
   * crowd each other out for ever.
   */
  isOpenTo(address: string): boolean {
    return this.addressOf.size < this.most || this.largest - this.byNetwork.countOf(networkOf(address)) > 1
  }

  /** Takes a place. `leaves` is called first with the holder, if any, that loses its place to the newcomer. */
  take(id: Id, address: string, leaves: (id: Id, crowd: Crowd) => void): void {
    if (this.byAddress.countOf(address) >= this.mostOfAddress) this.evict(this.byAddress.oldestOf(address)!, "address", leaves)
    else if (this.addressOf.size >= this.most) this.evict(this.oldestOfLargest(), "all", leaves)
    this.addressOf.set(id, address)
    this.byAddress.add(address, id)
    this.resize(networkOf(address), (network) => this.byNetwork.add(network, id))
  }

  /** Gives up a place, if it is held. */
  leave(id: Id): void {
    const address = this.addressOf.get(id)
    if (address === undefined) return
    this.addressOf.delete(id)
    this.byAddress.remove(address, id)
    this.resize(networkOf(address), (network) => this.byNetwork.remove(network, id))
  }

  private evict(id: Id, crowd: Crowd, leaves: (id: Id, crowd: Crowd) => void): void {
    this.leave(id)
    leaves(id, crowd)
  }

  private oldestOfLargest(): Id {
    return this.byNetwork.oldestOf(this.bySize.oldestOf(this.largest)!)!
  }

  /** Changes a network's number of places by one, and so the largest number by one at most. */
  private resize(network: string, change: (network: string) => void): void {
    this.bySize.remove(this.byNetwork.countOf(network), network)
    change(network)
    const size = this.byNetwork.countOf(network)
    if (size > 0) this.bySize.add(size, network)
    if (size > this.largest) this.largest = size
    else if (this.bySize.countOf(this.largest) === 0) this.largest--
  }
}
