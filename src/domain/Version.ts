/** The program's version, as in package.json; a test compares the two. */
export const programVersion = "0.8.0"
