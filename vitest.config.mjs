import { defineConfig } from "vitest/config"

// Tests run as compiled output: what is tested is what is served.
export default defineConfig({
  test: {
    include: ["dist/test/**/*.test.js"],
    exclude: ["**/node_modules/**"],
    pool: "forks",
    maxWorkers: 2,
    minWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
