/** The chart of a market: a choice of candles, with the account's own orders, position and fills. */
import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import type { Canvas, Colours, Line, Mark } from "../../chart/Canvas.js"
import { type Candles, type Series, serieses, type Timeframe, timeframes } from "../../state/market/Candles.js"
import { decimal } from "../../state/Words.js"
import { Choices } from "../Choices.js"
import { Trouble } from "../Trouble.js"

interface Props {
  readonly marketId: string
  readonly priceScale: number
  readonly candles: Candles
  readonly lines: ReadonlyArray<Line>
  readonly marks: ReadonlyArray<Mark>
}

const dark = "(prefers-color-scheme: dark)"

const colours = (): Colours => {
  const style = getComputedStyle(document.documentElement)
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim()
  return { ink: of("ink"), line: of("line"), ground: of("ground"), up: of("up"), down: of("down"), accent: of("accent") }
}

const seriesNames: Readonly<Record<Series, string>> = { trade: "Trades", index: "Index" }

/** The latest candle in figures, for readers who cannot see the drawing. */
const Latest = ({ candles }: { readonly candles: Candles }) => {
  const shown = candles.shown.value
  const last = shown?.candles.at(-1)
  if (shown === undefined) return <p class="fine">Loading…</p>
  if (last === undefined) return <p class="fine">Nothing yet.</p>
  return (
    <p class="fine figure-line">
      Open {decimal(last.open)} · High {decimal(last.high)} · Low {decimal(last.low)} · Close {decimal(last.close)}
    </p>
  )
}

export const Chart = ({ candles, lines, marketId, marks, priceScale }: Props) => {
  const host = useRef<HTMLDivElement>(null)
  const canvas = useSignal<Canvas | undefined>(undefined)
  const isMissing = useSignal(false)
  useEffect(() => {
    let isLeft = false
    const repaint = (): void => canvas.value?.paint(colours())
    const query = matchMedia(dark)
    import("../../chart/Canvas.js").then(({ Canvas }) => {
      if (!isLeft && host.current !== null) canvas.value = new Canvas(host.current, priceScale, colours(), () => void candles.older())
    }, () => {
      isMissing.value = true
    })
    query.addEventListener("change", repaint)
    return () => {
      isLeft = true
      query.removeEventListener("change", repaint)
      canvas.value?.remove()
      canvas.value = undefined
    }
  }, [candles, priceScale])
  const drawn = canvas.value
  const shown = candles.shown.value
  useEffect(() => {
    if (drawn !== undefined && shown !== undefined) drawn.candles(shown.name, shown.candles)
  }, [drawn, shown])
  useEffect(() => drawn?.stakes(lines, marks), [drawn, lines, marks])
  const { series, timeframe } = candles
  return (
    <section class="chart" aria-label="Chart">
      <div class="row">
        <Choices
          label="Length of a candle"
          name="timeframe"
          choices={timeframes.map((each) => [each, each] as const)}
          value={timeframe.value}
          choose={(chosen: Timeframe) => void candles.choose(chosen, series.value)}
        />
        <Choices
          label="Candles of"
          name="series"
          choices={serieses.map((each) => [each, seriesNames[each]] as const)}
          value={series.value}
          choose={(chosen: Series) => void candles.choose(timeframe.value, chosen)}
        />
      </div>
      <Trouble failure={candles.failure.value} again={() => void candles.choose(timeframe.value, series.value)} />
      {isMissing.value && <p class="trouble">The chart could not be loaded. Everything else works without it.</p>}
      <div
        ref={host}
        class="canvas"
        role="img"
        aria-label={`Candles of ${marketId}, ${timeframe.value} each; your orders, position and fills are drawn on them and listed below`}
      />
      <Latest candles={candles} />
      <p class="fine">
        Times on the chart are UTC. Drawn with{" "}
        <a href="https://www.tradingview.com/" rel="noopener noreferrer" target="_blank">TradingView’s Lightweight Charts™</a>.
      </p>
    </section>
  )
}
