import { defineConfig } from "vitest/config"

// Tests run as compiled output: what is tested is what is served. Node itself loads all but the tests: vitest would read,
// rewrite and evaluate each file of the venue anew for every suite, which costs more than most suites do.
export default defineConfig({
  test: {
    include: ["dist/test/**/*.test.js"],
    exclude: ["**/node_modules/**"],
    setupFiles: ["dist/test/BetweenTests.js"],
    server: { deps: { external: [/\/dist\/(?:src|sim|scripts)\//] } },
    pool: "forks",
    maxWorkers: 2,
    minWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
