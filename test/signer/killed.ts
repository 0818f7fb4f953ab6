/**
 * A signer that stops for ever behind its Nth write, durable as it is, and says so: somebody kills it there. Takes the directory, N
 * and the request, as the protocol has it; N of 0 stops before the first.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { KeyStore } from "../../src/signer/KeyStore.js"
import { SignRequest } from "../../src/signer/Requests.js"
import { over, storeIn } from "./Directory.js"

const [directory, stopsBehind, request] = process.argv.slice(2)

const stopped = Effect.zipRight(Effect.sync(() => process.stdout.write("stopped\n")), Effect.never)

const stalling = Layer.effect(
  KeyStore,
  Effect.map(KeyStore, (store) => {
    let writes = 0
    return {
      ...store,
      write: (name: string, record: string) =>
        Effect.suspend(() => {
          if (Number(stopsBehind) === 0) return stopped
          writes++
          return writes === Number(stopsBehind) ? Effect.zipRight(store.write(name, record), stopped) : store.write(name, record)
        })
    }
  })
)

const program = Effect.scoped(Effect.gen(function*() {
  const signer = yield* over(stalling.pipe(Layer.provide(storeIn(directory!))))
  yield* signer.sign(yield* Schema.decode(Schema.parseJson(SignRequest))(request!))
  process.stdout.write("answered\n")
}))

// Something has to keep the process alive while nothing happens any more.
process.stdin.resume()
void Effect.runPromise(program).then(() => process.exit(0))
