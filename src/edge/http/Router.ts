/**
 * From a framed request to its route. A request without a route, or with another method, draws on its remote address and gets the
 * envelope of its family. Before the venue is ready only the routes that report this are served.
 */
import FindMyWay from "find-my-way"
import { assert } from "../../domain/Assert.js"
import { remembered } from "../../domain/Remembered.js"
import * as Admission from "./Admission.js"
import { Call } from "./Call.js"
import type { Params, Services } from "./Call.js"
import { type Described, familyOf, isOfStream } from "./Endpoint.js"
import * as Errors from "./Errors.js"
import { type Application, type Misframed, type Reply, type Request, type Response, type Sender } from "./Listener.js"
import type { RouteCounts } from "./Metrics.js"
import type { Stage } from "./Readiness.js"
import type { Run } from "./Route.js"
import * as LimitHeaders from "./LimitHeaders.js"
import { meantAmong } from "./Unrouted.js"

/** Methods that the contract uses, in the order in which `allow` lists them. */
const methods = ["GET", "POST", "PUT", "DELETE"] as const
type Method = (typeof methods)[number]
const isMethod = (method: string): method is Method => (methods as ReadonlyArray<string>).includes(method)

/** The method that a route is declared with: `HEAD` is `GET`, whose body the listener leaves out. */
const declared = (method: string): string => method === "HEAD" ? "GET" : method

interface Route {
  readonly endpoint: Described
  readonly counts: RouteCounts
  readonly run: Run
}

/** The longest path parameter accepted. */
const maxParamLength = 4096

const misframedFailures: Readonly<Record<Misframed, Errors.Failure>> = {
  malformed: Errors.invalidRequest("The request is not HTTP/1.1 as this venue reads it."),
  headers_too_large: Errors.invalidRequest("The request's headers are too large."),
  body_too_large: Errors.payloadTooLarge,
  timeout: Errors.invalidRequest("The request did not arrive in time.")
}

/** Most contracts whose routing trees are kept: a process has one contract, tests have a few. */
const mostContracts = 4

/** An endpoint's position in its contract. */
interface Place {
  readonly place: number
}

/** The routing tree from paths to positions of endpoints. It is costly to build, and the same for all venues of a process. */
const waysTo = remembered(mostContracts, (endpoints: ReadonlyArray<Described>) => {
  const ways = FindMyWay({ caseSensitive: true, ignoreTrailingSlash: false, maxParamLength })
  for (const [place, { method, path }] of endpoints.entries()) {
    assert(isMethod(method), "an endpoint has one of the router's methods")
    ways.on(method, path, () => {}, { place } satisfies Place)
  }
  return ways
})

/**
 * The application over the contract's endpoints and their routes by name. Dies on any mismatch between the two, which is a defect
 * of the build.
 */
export const make = (
  endpoints: ReadonlyArray<Described>,
  services: Services,
  readiness: () => Stage,
  routes: Readonly<Record<string, Run>>
): Application => {
  const unserved = endpoints.filter((endpoint) => routes[endpoint.name] === undefined)
  const undeclared = Object.keys(routes).filter((name) => !endpoints.some((endpoint) => endpoint.name === name))
  assert(unserved.length === 0, `every endpoint is served: ${unserved.map((endpoint) => endpoint.name).join(", ")}`)
  assert(undeclared.length === 0, `every route is in the contract: ${undeclared.join(", ")}`)
  const ways = waysTo(endpoints)
  const placed = endpoints.map((endpoint): Route => ({
    endpoint,
    counts: services.metrics.route(endpoint.name),
    run: routes[endpoint.name]!
  }))
  const routeAt = (store: unknown): Route => placed[(store as Place).place]!
  const refused = refusing(services, readiness)
  const isOfPolicy = (failure: Errors.Failure | undefined): boolean => failure === services.runtimePolicy.hidden
  const unknown = unknownOver(endpoints)
  /** Why a path has no route with this method. */
  const unroutable = (method: string, path: string): Errors.Failure => {
    if (!isPercentEncoded(path)) return Errors.invalidRequest("The path is not percent-encoded UTF-8.")
    const offered = methods.flatMap((each) => {
      const found = ways.find(each, path)
      return found === null ? [] : [{ method: each, route: routeAt(found.store) }]
    })
    const allowed = offered.filter(({ route }) => hiding(services, route) === undefined)
    // A hidden path is answered as hidden whatever the method: a 405 for a method that it never had would tell that the path exists.
    if (allowed.length === 0) return offered.map(({ route }) => hiding(services, route)).find(isOfPolicy) ?? unknown(method, path)
    const allow = allowed.flatMap(({ method }) => method === "GET" ? ["GET", "HEAD"] : [method]).join(", ")
    const more = allowed.some(({ route }) => route.endpoint.feature !== undefined) ? services.runtimePolicy.headers : {}
    return { ...Errors.methodNotAllowed, headers: { allow, ...more } }
  }

  const handle = (request: Request, reply: Reply): void => {
    const { target } = request
    const at = target.indexOf("?")
    const path = at < 0 ? target : target.slice(0, at)
    const method = declared(request.method)
    if (!isPlain(path)) return reply(refused(request, path, () => unknown(method, path)))
    const found = isMethod(method) ? ways.find(method, path) : null
    if (found === null) return reply(refused(request, path, () => unroutable(method, path)))
    const route = routeAt(found.store)
    const hidden = hiding(services, route)
    if (hidden !== undefined) return reply(refused(request, path, () => hidden))
    const query = at < 0 ? "" : target.slice(at + 1)
    const call = new Call(
      services,
      route.endpoint,
      route.counts,
      request,
      found.params as Params,
      query,
      services.nextRequestId(),
      reply
    )
    if (route.endpoint.access !== "system" && readiness() !== "ready") return call.fail(Errors.starting)
    try {
      const caller = Admission.admit(call)
      if (caller !== undefined) route.run(call, caller)
    } catch (cause) {
      call.crash(cause)
    }
  }

  return {
    handle,
    misframed: (reason, target = "/", sender) => {
      const { headers, ...response } = refused(sender, target, () => misframedFailures[reason], misframedFailures[reason])
      return { ...response, headers: { ...headers, connection: "close" } }
    }
  }
}

/** Answers requests without a route. They are counted before the route is looked up, once the venue is ready. */
const refusing = (services: Services, readiness: () => Stage) => {
  const { byStatus } = services.metrics.route("unrouted")
  return (sender: Sender, path: string, why: () => Errors.Failure, unready = Errors.starting): Response => {
    const { headers, refusal } = readiness() === "ready"
      ? LimitHeaders.draw(services, sender)
      : { headers: LimitHeaders.ofAddress(services, sender), refusal: unready }
    const failure = refusal ?? why()
    const { name, status } = failure.description
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
    services.metrics.refused(name)
    return Errors.response(familyOf(path), failure, services.nextRequestId(), services.now(), { ...headers, ...Errors.headersOf(failure) })
  }
}

/** The answer for a path without a route. Hidden and operator routes are never suggested to those who do not know of them. */
const unknownOver = remembered(mostContracts, (endpoints: ReadonlyArray<Described>) => {
  const meant = meantAmong(endpoints.filter(({ access, feature }) => access !== "operator" && feature === undefined))
  return (method: string, path: string): Errors.Failure => {
    if (isOfStream(path)) return Errors.upgradeMissing
    const route = meant(method, path)
    return route === undefined ? Errors.routeNotFound : Errors.routeMeant(route)
  }
})

/** The answer for a route that this venue does not offer; undefined where it does. */
const hiding = ({ operatorToken, runtimePolicy }: Services, { endpoint: { access, feature } }: Route): Errors.Failure | undefined => {
  if (access === "operator" && operatorToken === undefined) return Errors.routeNotFound
  return feature === undefined || runtimePolicy.isOn(feature) ? undefined : runtimePolicy.hidden
}

/** Whether a path could be a route's: absolute, without empty segments apart from the root's, and without a fragment. */
const isPlain = (path: string): boolean =>
  path === "/" || path.charCodeAt(0) === 47 && path.charCodeAt(path.length - 1) !== 47 && !path.includes("//") && !path.includes("#")

const isPercentEncoded = (path: string): boolean => {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
