/**
 * Safety (I9). What follows the writer runs nothing that may still be taken back: what it says of its state, and what it saves, is
 * of a record that was durable before.
 */
import { broken, holds, type Property } from "./Property.js"

export const followerOnlyDurable: Property<null> = {
  name: "follower-runs-only-what-is-durable",
  invariant: "I9",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "FollowerSaid" || seen.said._tag === "Warned") return holds
    const { durableSequence, said: { sequence } } = seen
    return sequence <= durableSequence ? holds : broken(`the follower ran record ${sequence} where ${durableSequence} was durable`)
  }
}
