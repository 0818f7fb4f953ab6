/** `GET /v2/time`: the venue's clock. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { isoTime } from "../../domain/IsoTime.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"

const CompatTime = Schema.Struct(Fields.moment).annotations({ identifier: "CompatTime" })

export const getCompatTime = Route.effect({
  tag: "compatMarkets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getCompatTime", "/v2/time")
    .addSuccess(CompatTime)
    .addError(Failures.compat(Failures.publicRead))
    .annotate(OpenApi.Summary, "The venue's clock"),
  example: { target: "/v2/time" },
  handler: ({ now }) => () => {
    const timestamp = now()
    return json({ timestamp, datetime: isoTime(timestamp) })
  }
})
