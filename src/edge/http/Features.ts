/** What an endpoint may say of itself beside who may call it. */
import * as Context from "effect/Context"

/** What a venue may have off. */
export type FeatureName = "affiliate"

/** The endpoint is hidden, as if there were no such route, where this is off. */
export class Feature extends Context.Tag("venue/edge/http/Feature")<Feature, FeatureName>() {}

/** The endpoint's body may be left out. */
export class BodyIsOptional extends Context.Tag("venue/edge/http/BodyIsOptional")<BodyIsOptional, true>() {}
