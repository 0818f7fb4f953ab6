/** The output that a step of the build writes into: `--to FOLDER`, or `dist`. */
const given = process.argv.indexOf("--to")
export const output = given < 0 ? "dist" : process.argv[given + 1]!
