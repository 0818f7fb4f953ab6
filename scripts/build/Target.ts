/** The directory into which a step of the build writes: `--to FOLDER`, or `dist`. */
const given = process.argv.indexOf("--to")
export const output = given < 0 ? "dist" : process.argv[given + 1]!
