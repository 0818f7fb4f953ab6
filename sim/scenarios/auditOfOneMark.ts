/**
 * An audit adds up the positions of all accounts, some at one mark price and some at another. The sums do not match, and a venue whose
 * books were right is halted.
 *
 * What has to hold: every answer is of one record and one mark of each market, and names the record; answers of one record add up to the
 * atom, however the marks move, also while a tick has made the marks of some markets and not yet those of others; answers of different
 * records need not, which is why they can be told apart; and the venue halts neither itself nor any market.
 */
import type { Json } from "../reading/Bodies.js"
import * as Calls from "../workload/Calls.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

/** More markets than one tick marks. */
const marketsOfStage = 18

/** The sum of all unrealized profits, money atoms. */
const paper = (answers: ReadonlyArray<Json>): bigint =>
  answers.flatMap((each) => each["positions"] as ReadonlyArray<Json>)
    .reduce((sum, { unrealizedPnlAtoms }) => sum + BigInt(String(unrealizedPnlAtoms)), 0n)

/** All accounts' positions, requested at once. */
const snapshot = (stage: Stage, everybody: ReadonlyArray<Somebody>): ReadonlyArray<Json> =>
  stage.together(everybody.map((who) => Calls.read(who, "listPositions", `/v1/accounts/${who.accountId}/positions`, "trader")))

export const auditOfOneMark: Scenario = {
  name: "audit-of-one-mark",
  what: "audits while eighteen marks move: what is of one record adds up, and nothing is halted for what is not",
  play: (stage) => {
    const bases = Array.from({ length: marketsOfStage }, (_, at) => `M${at}`)
    const markets = bases.map((base) => stage.market(base, 1_000))
    const everybody = stage.open(["one", "two", "three"], 1_000_000)
    markets.forEach((market, at) => stage.deal(everybody[at % 3]!, everybody[(at + 1) % 3]!, market, 10 + at, 1_000))
    let whole = 0
    let mixed = 0
    for (let round = 0; round < 4; round++) {
      markets.forEach((market, at) => void stage.index(market, 1_000 + (round % 2 === 0 ? 1 : -1) * (10 + 7 * at)))
      stage.wait(1_000 - (stage.now % 1_000) - 12)
      const read: Array<Json> = []
      for (let time = 0; time < 8; time++) {
        const answers = snapshot(stage, everybody)
        stage.auditEngine()
        const sequences = new Set(answers.map((each) => each["journalSequence"]))
        read.push(...answers)
        if (sequences.size > 1) continue
        whole++
        stage.is("what everybody has on paper at one record", String(paper(answers)), "0")
      }
      // The first answer of one account mixed with the last of the others does not add up.
      if (paper([read[0]!, ...read.slice(-2)]) !== 0n) mixed++
    }
    stage.holds("audits of one record were made", whole >= 8)
    stage.holds("answers of different records do not add up", mixed >= 2)
    const statuses = (stage.public("listMarkets", "/v1/markets")["markets"] as ReadonlyArray<Json>).map(({ status }) => status)
    stage.is("the markets' statuses", statuses, markets.map(() => "open"))
    stage.deal(everybody[0]!, everybody[1]!, markets[0]!, 1, 1_000)
    stage.audit()
  }
}
