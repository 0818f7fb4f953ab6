import { defineConfig } from "vitest/config"
import { BaseSequencer } from "vitest/node"

/** Suites that take longest, the longest first: begun last, one of them would keep one core busy while the other has nothing to do. */
const dearest = ["tape/Tape", "funds/Deposits", "browser/Market", "regressions/UpgradeCrash", "sim/Simulation", "funds/KilledUnderFaults", "sim/Shrink", "signer/Signers", "cli/replay", "sim/Twist", "funds/Killed", "main", "edge/FrozenProcess", "scripts/mutate/State", "edge/KeyUses", "regressions/Upgrade", "cli/tail", "edge/FullDisk", "oracle/NodeCcxt", "oracle/VenueOfExchanges", "browser/Funds", "client/Trading", "sim/NaiveVenue", "browser/Console"]

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
    setupFiles: ["dist/test/NodeBetweenTests.js"],
    server: { deps: { external: [/\/\.?dist[^/]*\/(?:src|sim|scripts)\//] } },
    sequence: { sequencer: DearestFirst },
    pool: "forks",
    // A process for every suite would load the venue and its libraries anew for each, half a second of a processor every time.
    // Each worker runs one suite behind the other: what a suite takes (servers, processes, directories) it gives back.
    poolOptions: { forks: { isolate: false, execArgv: ["--max-semi-space-size=64"] } },
    maxWorkers: 2,
    minWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
