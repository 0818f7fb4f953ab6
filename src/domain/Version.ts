/** The version of the program, as package.json says; a test holds it to that. */
export const programVersion = "0.8.0"
