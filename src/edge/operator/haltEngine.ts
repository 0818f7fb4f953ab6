/** The global halt: `PUT` and `DELETE /v1/operator/engine/halt`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { Operation } from "../../operations/Operations.js"
import { operated, OperatorResult } from "./OperatorResult.js"
import { command } from "./Sent.js"

export const haltEngine = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.put("haltEngine", "/v1/operator/engine/halt")
    .setHeaders(Fields.IdempotencyHeaders)
    .addSuccess(OperatorResult)
    .addError(Failures.native(Failures.operatorCommandWithoutBody))
    .annotate(OpenApi.Summary,
      "Refuse every trading command until resumed, cancels too; a market's status `cancel_only` lets people cancel"),
  example: { target: "/v1/operator/engine/halt" },
  handler: (services) => ({ headers }) => operated(services, "halt_engine", command("HaltEngine", Operation.haltEngine, headers, {}, {}))
})

export const resumeEngine = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.del("resumeEngine", "/v1/operator/engine/halt")
    .setHeaders(Fields.IdempotencyHeaders)
    .addSuccess(OperatorResult)
    .addError(Failures.native(Failures.operatorCommandWithoutBody))
    .annotate(OpenApi.Summary, "Lift the halt"),
  example: { target: "/v1/operator/engine/halt" },
  handler: (services) => ({ headers }) =>
    operated(services, "resume_engine", command("ResumeEngine", Operation.resumeEngine, headers, {}, {}))
})
