/** The way to the writer: what a defect behind a decision does to it. */
import { expect, test } from "vitest"
import { Refusal } from "../../src/domain/Refusal.js"
import { internal, Principal } from "../../src/operations/Header.js"
import { type Command, type Outcome, refuse } from "../../src/operations/Operations.js"
import { type Answer, guarded } from "../../src/sequencer/Submit.js"

test("a defect in an answer is told, and kept from the writer, which calls the answer", () => {
  const told: Array<unknown> = []
  const answers: Array<Answer> = []
  const writer = { submit: (_: Command, answer: Answer) => void answers.push(answer) }
  const { submit } = guarded(writer, (defect) => told.push(defect))
  const defect = new Error("a defect")
  const came: Array<Outcome> = []
  submit({ kind: "PassTime", ...internal(Principal.timer) }, (outcome) => {
    came.push(outcome)
    throw defect
  })
  const outcome = refuse(Refusal.inboxFull, 1, 1)
  for (const answer of answers) answer(outcome)
  expect([came, told]).toEqual([[outcome], [defect]])
})
