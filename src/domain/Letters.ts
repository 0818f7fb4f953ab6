/** Letters and digits that cannot be mistaken for each other, and form no words: codes that people type are made of these. */
export const codeLetters = "BCDFGHJKLMNPQRSTVWXZ23456789"
