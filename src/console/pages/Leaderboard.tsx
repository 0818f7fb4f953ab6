/** The best accounts over a day, a week, a month or all time, under their chosen names. */
import { useEffect } from "preact/hooks"
import { Choices } from "../parts/Choices.js"
import { Gain } from "../parts/Gain.js"
import { Moment } from "../parts/Moment.js"
import { Paged } from "../parts/Paged.js"
import { type Column, Table } from "../parts/Table.js"
import { Title } from "../parts/Title.js"
import { exact, usdc } from "../state/Amount.js"
import type * as Contract from "../state/Contract.js"
import type { Store } from "../state/Store.js"

const windows: ReadonlyArray<readonly [Contract.Window, string]> = [
  ["daily", "Day"],
  ["weekly", "Week"],
  ["monthly", "Month"],
  ["all_time", "Ever"]
]

const columns: ReadonlyArray<Column<Contract.Ranked>> = [
  { title: "Rank", isNumber: true, cell: ({ rank }) => rank },
  {
    title: "Name",
    isName: true,
    cell: ({ displayHandle, participantKind }) => (
      <>
        <bdi>{displayHandle}</bdi>
        {participantKind === "bot" && <span class="state">bot</span>}
      </>
    )
  },
  { title: "Score", isNumber: true, cell: ({ scoreAtoms }) => <Gain amount={exact(scoreAtoms)} /> },
  { title: "Realised", isNumber: true, cell: ({ realizedPnlAtoms }) => usdc(realizedPnlAtoms) },
  { title: "Fees", isNumber: true, cell: ({ feesPaidAtoms }) => usdc(feesPaidAtoms) },
  { title: "Funding", isNumber: true, cell: ({ fundingPaidAtoms }) => usdc(fundingPaidAtoms) },
  { title: "Fills", isNumber: true, cell: ({ fillCount }) => fillCount }
]

export const LeaderboardPage = ({ store: { leaderboard }, title }: { readonly store: Store; readonly title: string }) => {
  const { entries, window } = leaderboard
  useEffect(() => void entries.list.load(), [])
  const board = leaderboard.board.value
  return (
    <>
      <div class="head">
        <Title title={title} />
        {board !== undefined && (
          <p class="fine">
            As of <Moment atEpochMs={board.markEpochMs} />, in USDC
          </p>
        )}
      </div>
      <Choices label="Over" name="window" choices={windows} value={window.value} choose={(chosen) => void leaderboard.choose(chosen)} />
      <p>A score is what was realised, less fees and funding.</p>
      <Paged more="Show more" of={entries}>
        {({ rows }) => (
          <Table
            label="Leaderboard"
            columns={columns}
            rows={rows}
            keyOf={({ rank }) => rank}
            empty="Nobody has traded in this time."
          />
        )}
      </Paged>
    </>
  )
}
