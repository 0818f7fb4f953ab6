/**
 * Places in a table that anybody may take one of without a credential. Each address has so many; with another one its own oldest
 * is left. Where all are taken, the newcomer gets that of the network which holds most, the oldest of it: so whoever fills
 * the table crowds out himself, and nobody who holds few of them is refused. Whatever comes, no more are taken than there are.
 */
import { Multimap } from "../domain/Multimap.js"

/**
 * The network that an address belongs to, as requests are counted for it: of version 6, where it is the first 64 bits, the first
 * 48, which one customer has to himself. One of version 4 stands for itself.
 */
export const networkOf = (address: string): string => address.endsWith("::/64") ? `${address.split(":", 3).join(":")}::/48` : address

/** Why a place was left for a newcomer. */
export type Crowd = "address" | "all"

export class FairPlaces<Id> {
  private readonly addressOf = new Map<Id, string>()
  private readonly byAddress = new Multimap<string, Id>()
  private readonly byNetwork = new Multimap<string, Id>()
  /** Networks by how many places they hold, and the most that one holds. */
  private readonly bySize = new Multimap<number, string>()
  private largest = 0

  constructor(private readonly most: number, private readonly mostOfAddress: number) {}

  /** Takes a place. Whoever has to leave for it is told of first, once. */
  take(id: Id, address: string, leaves: (id: Id, crowd: Crowd) => void): void {
    if (this.byAddress.countOf(address) >= this.mostOfAddress) this.evict(this.byAddress.oldestOf(address)!, "address", leaves)
    else if (this.addressOf.size >= this.most) this.evict(this.oldestOfLargest(), "all", leaves)
    this.addressOf.set(id, address)
    this.byAddress.add(address, id)
    this.resize(networkOf(address), (network) => this.byNetwork.add(network, id))
  }

  /** Leaves a place, if it is taken. */
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

  /** Changes what a network holds, by one: so the most that one holds changes by one at most. */
  private resize(network: string, change: (network: string) => void): void {
    this.bySize.remove(this.byNetwork.countOf(network), network)
    change(network)
    const size = this.byNetwork.countOf(network)
    if (size > 0) this.bySize.add(size, network)
    if (size > this.largest) this.largest = size
    else if (this.bySize.countOf(this.largest) === 0) this.largest--
  }
}
