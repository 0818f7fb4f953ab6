/**
 * A signer that stops for ever after its Nth write is durable, and reports that, so that a test can kill it there. Takes the directory, N
 * and the request in the protocol's form; with N of 0 it stops before the first.
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

// Something has to keep the process alive once nothing happens any more.
process.stdin.resume()
void Effect.runPromise(program).then(() => process.exit(0))
