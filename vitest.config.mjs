import { defineConfig } from "vitest/config"
import { BaseSequencer } from "vitest/node"

/** Suites that take longest, the longest first: begun last, one of them would keep one core busy while the other has nothing to do. */
const dearest = ["tape/Tape", "sim/Simulation", "funds/Deposits", "signer/Signers", "regressions/UpgradeCrash", "journal/Damage", "scripts/mutate/State", "main", "sim/Scenarios", "ledger/Ledgers", "cli/venue", "sim/Shrink", "regressions/UpgradeRules", "funds/KilledUnderFaults", "oracle/NodeCcxt", "cli/tail", "funds/Killed", "funds/Withdrawals", "readings/NodeReadings", "cli/replay", "scripts/mutate/Suites", "sim/Twist", "edge/FrozenProcess", "engine/FundsOrders", "cli/bundle", "regressions/Upgrade", "streams/Reconnect", "sim/RootFibers", "edge/LeavingProcess", "journal/TwoProcesses", "sequencer/Feed", "cli/connect", "funds/Approvals", "edge/funds/ForgottenTransfers", "oracle/VenueOfExchanges", "cli/audit", "journal/Failures", "journal/Crash", "sim/NaiveVenue", "edge/http/Shapes", "engine/Preview", "client/Trading", "edge/identity/Killed", "edge/FullProcess", "funds/Driver", "engine/Funding", "edge/FailingProcess", "engine/OpenList", "client/Package", "sequencer/Recovery", "sim/Report", "cli/Help", "cli/verifySolvency", "browser/Market", "edge/DescriptorLimit", "observe/Running", "browser/Funds", "browser/Console", "edge/http/NodeTls"]

class DearestFirst extends BaseSequencer {
  async sort(files) {
    const rank = ({ moduleId }) => {
      const at = dearest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.js`))
      return at < 0 ? dearest.length : at
    }
    return [...await super.sort(files)].sort((one, other) => rank(one) - rank(other))
  }
}

// Tests run as compiled output: what is tested is what is served. Node itself loads all but the tests: vitest would read,
// rewrite and evaluate each file of the venue anew for every suite, which costs more than most suites do.
export default defineConfig({
  test: {
    include: ["dist/test/**/*.test.js"],
    exclude: ["**/node_modules/**"],
    // `only`, in a test's options too, would leave its neighbours out without a word; `--allowOnly` lets it pass while working.
    allowOnly: false,
    setupFiles: ["dist/test/NodeBetweenTests.js"],
    server: { deps: { external: [/\/\.?dist[^/]*\/(?:src|sim|scripts)\//] } },
    sequence: { sequencer: DearestFirst },
    pool: "forks",
    // A process for every suite would load the venue and its libraries anew for each, half a second of a processor every time.
    // Each worker runs one suite behind the other: what a suite takes (servers, processes, directories) it gives back.
    // Most of what V8 would make of code that runs for some seconds is not worth the making: it begins three times as late.
    poolOptions: { forks: { isolate: false, execArgv: ["--max-semi-space-size=64", "--interrupt-budget=400000", "--always-sparkplug"] } },
    // One more than there are cores: of those that start processes one or another waits.
    // All of them stay to the end: the pool lets a worker that is idle go twice while others work, and fails of the second time.
    maxWorkers: 3,
    minWorkers: 3,
    // Tables for a day of orders are reserved at once, which V8 collects garbage for, and each start fills a segment and the next with
    // zeros, whose writing is a tenth of what it costs: processes of tests start with smaller ones.
    env: { ORDER_CAPACITY: "100000", IDEMPOTENCY_CAPACITY: "100000", SEGMENT_MIB: "4" },
    // Ends what hangs, and nothing that is only slow: a busy machine takes several times as long as a quiet one.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } }
  }
})
