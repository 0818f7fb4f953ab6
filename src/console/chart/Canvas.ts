/**
 * The drawn chart: candles, the account's order and position prices, and fills. It is loaded when a market is opened, and is the only file
 * that knows the charting library. Its floats serve only for display.
 */
import {
  CandlestickSeries,
  createChart,
  createSeriesMarkers,
  type IChartApi,
  type IPriceLine,
  type ISeriesApi,
  type ISeriesMarkersPluginApi,
  type Time,
  type UTCTimestamp
} from "lightweight-charts"
import type { Candle } from "../../client/venue/Contract.js"

/** The page's colours for the light or dark theme. */
export interface Colours {
  readonly ink: string
  readonly line: string
  readonly ground: string
  readonly up: string
  readonly down: string
  readonly accent: string
}

/** A horizontal line at a price. */
export interface Line {
  readonly title: string
  readonly price: string
  readonly colour: "up" | "down" | "accent"
  readonly isDashed: boolean
}

/** A purchase or sale at a time. */
export interface Mark {
  readonly atEpochMs: number
  readonly side: "buy" | "sell"
  readonly text: string
}

interface Bar {
  readonly time: UTCTimestamp
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
}

/** With fewer candles than this, they keep their usual width and do not fill the chart. */
const fewest = 40

/** Older candles are requested when fewer than this many are left before the visible ones. */
const nearFirst = 5

const bar = ({ close, high, low, open, openTimeEpochMs }: Candle): Bar => ({
  time: Math.floor(openTimeEpochMs / 1_000) as UTCTimestamp,
  open: Number(open),
  high: Number(high),
  low: Number(low),
  close: Number(close)
})

const isSame = (one: Candle, other: Candle): boolean =>
  one.openTimeEpochMs === other.openTimeEpochMs && one.closeAtoms === other.closeAtoms && one.highAtoms === other.highAtoms
  && one.lowAtoms === other.lowAtoms && one.openAtoms === other.openAtoms

export class Canvas {
  private readonly chart: IChartApi
  private readonly series: ISeriesApi<"Candlestick">
  private readonly marked: ISeriesMarkersPluginApi<Time>
  private name = ""
  private shown: ReadonlyArray<Candle> = []
  private drawn: ReadonlyArray<IPriceLine> = []
  private lines: ReadonlyArray<Line> = []
  private marks: ReadonlyArray<Mark> = []

  /** `priceScale`: decimals of a price. `older`: called when older candles than those loaded come into view. */
  constructor(host: HTMLElement, priceScale: number, private colours: Colours, older: () => void) {
    this.chart = createChart(host, {
      autoSize: true,
      // The library's logo needs a style sheet of its own, which the page's policy forbids; the attribution stands under the chart instead.
      layout: { attributionLogo: false },
      timeScale: { timeVisible: true, secondsVisible: false, rightOffset: 6 },
      handleScale: { mouseWheel: false },
      handleScroll: { mouseWheel: false, vertTouchDrag: false }
    })
    this.series = this.chart.addSeries(CandlestickSeries, {
      priceFormat: { type: "price", precision: priceScale, minMove: 1 / 10 ** priceScale },
      borderVisible: false
    })
    this.marked = createSeriesMarkers(this.series, [])
    this.chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
      if (range !== null && range.from < nearFirst) older()
    })
    this.paint(colours)
  }

  paint(colours: Colours): void {
    this.colours = colours
    const { down, ground, ink, line, up } = colours
    this.chart.applyOptions({
      layout: { background: { color: ground }, textColor: ink },
      grid: { vertLines: { color: line }, horzLines: { color: line } },
      rightPriceScale: { borderColor: line },
      timeScale: { borderColor: line }
    })
    // Falling candles are filled and rising ones hollow, so that colour is not the only distinction.
    this.series.applyOptions({
      upColor: ground,
      downColor: down,
      borderVisible: true,
      borderUpColor: up,
      borderDownColor: down,
      wickUpColor: up,
      wickDownColor: down
    })
    this.drawLines()
    this.drawMarks()
  }

  /** Shows candles, oldest first; under an unchanged name only the changed ones are redrawn. */
  candles(name: string, candles: ReadonlyArray<Candle>): void {
    const { shown } = this
    const at = candles.findIndex((candle, index) => shown[index] === undefined || !isSame(candle, shown[index]))
    const isContinued = name === this.name && shown.length > 0 && (at < 0 || at >= shown.length - 1)
    if (isContinued) { if (at >= 0) { for (const candle of candles.slice(at)) this.series.update(bar(candle)) } }
    else this.series.setData(candles.map(bar))
    // Stretched over the whole chart, a few candles would not look like candles.
    if (name !== this.name && candles.length > fewest) this.chart.timeScale().fitContent()
    this.name = name
    this.shown = candles
    this.drawMarks()
  }

  stakes(lines: ReadonlyArray<Line>, marks: ReadonlyArray<Mark>): void {
    this.lines = lines
    this.marks = marks
    this.drawLines()
    this.drawMarks()
  }

  remove(): void {
    this.chart.remove()
  }

  private drawLines(): void {
    for (const line of this.drawn) this.series.removePriceLine(line)
    this.drawn = this.lines.map(({ colour, isDashed, price, title }) =>
      this.series.createPriceLine({
        price: Number(price),
        color: this.colours[colour],
        lineWidth: 1,
        lineStyle: isDashed ? 2 : 0,
        axisLabelVisible: true,
        title
      })
    )
  }

  /** Draws each mark at the candle that contains its time; marks older than all candles are left out. */
  private drawMarks(): void {
    const { colours, marks, shown } = this
    const placed = [...marks].sort((one, other) => one.atEpochMs - other.atEpochMs).flatMap(({ atEpochMs, side, text }) => {
      const candle = shown.findLast(({ openTimeEpochMs }) => openTimeEpochMs <= atEpochMs)
      if (candle === undefined) return []
      const isBuy = side === "buy"
      return [{
        time: bar(candle).time,
        position: isBuy ? "belowBar" as const : "aboveBar" as const,
        shape: isBuy ? "arrowUp" as const : "arrowDown" as const,
        color: isBuy ? colours.up : colours.down,
        text
      }]
    })
    this.marked.setMarkers(placed)
  }
}
