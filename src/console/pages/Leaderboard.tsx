/** The best accounts over a day, a week, a month or all time, under their chosen names, and choosing one's own. */
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Choices } from "../parts/Choices.js"
import { Confirm } from "../parts/Confirm.js"
import { Gain } from "../parts/Gain.js"
import { Moment } from "../parts/Moment.js"
import { Paged } from "../parts/Paged.js"
import { Read } from "../parts/Section.js"
import { type Column, Table } from "../parts/Table.js"
import { Title } from "../parts/Title.js"
import { exact, usdc } from "../state/Amount.js"
import type * as Contract from "../state/Contract.js"
import type { Leaderboard } from "../state/Leaderboard.js"
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

/** The account's public name, and choosing another one. */
const Name = ({ leaderboard }: { readonly leaderboard: Leaderboard }) => {
  const isAsked = useSignal(false)
  const chosen = useSignal("")
  return (
    <>
      <Read of={leaderboard.profile}>
        {({ displayHandle }) => (
          <p>
            {displayHandle === null ? "You are listed under a name that nobody can trace to you." : (
              <>
                You are listed as <bdi>{displayHandle}</bdi>.
              </>
            )} <button type="button" class="small" onClick={() => isAsked.value = true}>Choose a name</button>
          </p>
        )}
      </Read>
      {isAsked.value && (
        <Confirm
          title="Choose a public name"
          action="Choose it"
          look="primary"
          leave="Leave it"
          task={leaderboard.naming}
          onConfirm={() => leaderboard.rename(chosen.value)}
          onClose={() => isAsked.value = false}
        >
          <p>Everybody may see it. You can change it later, but not remove it. The venue adds a suffix.</p>
          <label for="public-name">
            Name <span class="soft">(3 to 20 of A–Z a–z 0–9 _ -)</span>
          </label>
          <input
            id="public-name"
            type="text"
            required
            pattern="[A-Za-z0-9_\-]{3,20}"
            maxLength={20}
            autoComplete="off"
            value={chosen.value}
            onInput={(event) => chosen.value = event.currentTarget.value}
          />
        </Confirm>
      )}
    </>
  )
}

export const LeaderboardPage = ({ store: { leaderboard }, title }: { readonly store: Store; readonly title: string }) => {
  const { entries, window } = leaderboard
  useEffect(() => {
    void entries.list.load()
    void leaderboard.profile.load()
  }, [])
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
      <Name leaderboard={leaderboard} />
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
