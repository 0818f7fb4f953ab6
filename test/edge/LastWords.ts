/** What a venue's process logged as it ended, taken from its output. */
export const lastWords = (output: string): ReadonlyArray<{ readonly time: string; readonly message: string }> =>
  output.split("\n").filter((line) => line.includes("\"level\":\"fatal\"")).map((line) => JSON.parse(line))
