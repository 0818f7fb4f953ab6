/** What the tools call themselves by: the version in package.json, which a test holds this to. */
export const programVersion = "0.1.0"
