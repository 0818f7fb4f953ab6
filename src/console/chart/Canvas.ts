/**
 * The drawn chart: candles, prices that somebody has a stake in, and fills. It is loaded when a market is opened, and is the one file that
 * knows the charting library. What it draws in floats is only looked at.
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

/** The page's colours, as it is light or dark. */
export interface Colours {
  readonly ink: string
  readonly line: string
  readonly ground: string
  readonly up: string
  readonly down: string
  readonly accent: string
}

/** A price across the chart. */
export interface Line {
  readonly title: string
  readonly price: string
  readonly colour: "up" | "down" | "accent"
  readonly isDashed: boolean
}

/** Something that was bought or sold at a time. */
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

/** Below so many candles they are as wide as ever, and the chart is not filled. */
const fewest = 40

/** From so many candles before the first on, older ones are asked for. */
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

  /** `priceScale`: decimals of a price. `older`: hears that somebody looks where candles are that are not there yet. */
  constructor(host: HTMLElement, priceScale: number, private colours: Colours, older: () => void) {
    this.chart = createChart(host, {
      autoSize: true,
      // Its logo brings a style sheet of its own, which the page's policy refuses: who made the library stands under the chart.
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
    // What went down is filled, what went up is hollow: the colour alone says nothing.
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

  /** Shows candles, oldest first; under the name that they had before, only what has changed of them is drawn. */
  candles(name: string, candles: ReadonlyArray<Candle>): void {
    const { shown } = this
    const at = candles.findIndex((candle, index) => shown[index] === undefined || !isSame(candle, shown[index]))
    const isContinued = name === this.name && shown.length > 0 && (at < 0 || at >= shown.length - 1)
    if (isContinued) { if (at >= 0) { for (const candle of candles.slice(at)) this.series.update(bar(candle)) } }
    else this.series.setData(candles.map(bar))
    // A few candles look like candles, and not like a wall.
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

  /** A mark stands at the candle that its time is in; what is older than all candles is not drawn. */
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
