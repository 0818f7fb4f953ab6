/** A real venue whose journal is moved away: it waits for it, is not ready, and does not call its stop a clean one. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test, vi } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-gone-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

/** Whether the venue of a port is ready. */
const readyz = async (port: number): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
  return `${answer.status} ${await answer.text()}`
}

test.each([["put back", 1], ["not put back", 70]])("a venue whose journal/ is moved away, and %s, ends with %i", async (then, code) => {
  const venue = await VenueProcess.start(path.join(directory, then))
  const journal = path.join(venue.dataDir, "journal")
  await vi.waitFor(async () => expect(await readyz(venue.port)).toMatch(/^200/), { interval: 50, timeout: 60_000 })
  fs.renameSync(journal, `${journal}.away`)
  await vi.waitFor(async () => expect(await readyz(venue.port)).toMatch(/^503 .*a block has been on its way/), {
    interval: 50,
    timeout: 60_000
  })
  expect(venue.output).toContain("Nothing is acknowledged any more. Do not stop the venue")
  if (then === "put back") fs.renameSync(`${journal}.away`, journal)
  const ended = then === "put back" ? await venue.exited : await venue.stop()
  expect(ended).toBe(code)
  expect(venue.output).not.toContain("stopped cleanly")
  if (then === "put back") {
    expect(venue.output).toContain("the writer stopped (JournalFenced): journal/00000000000000000001.seg, which was being written, was")
    const next = await VenueProcess.start(venue.dataDir)
    expect(await next.stop()).toBe(0)
  } else expect(venue.output).toContain("put that back before the next start, which would otherwise go on without it")
})
