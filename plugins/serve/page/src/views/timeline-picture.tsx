/** The drawing of a timeline. Only what the window shows is drawn, so thousands of turns stay fast. */
import { clockText } from '../model/time.js'
import {
  type Bar,
  barText,
  LANES,
  type Lane,
  linesOf,
  type Mark,
  type Timeline,
  ticksIn,
} from '../model/timeline.js'
import { visibleText } from '../parts/visible-text.js'
import { useWidth } from '../parts/width.js'
import type { Range } from '../parts/zoom.js'

const LINE = 22
const GAP = 12
const LABEL = 84
const AXIS = 26
/** Bars that are closer to each other than this, in one line, are drawn as one. */
const NARROW = 1.5

export function TimelinePicture({ timeline, range }: { timeline: Timeline; range: Range }) {
  const { svg, width } = useWidth(900)
  const plot = width - LABEL - 8
  const xOf = (at: number): number => LABEL + ((at - range.from) / (range.to - range.from)) * plot
  const tops = topsOf(timeline.bars)
  const height = tops.height + AXIS
  const isSeen = ({ from, to }: Range): boolean => to >= range.from && from <= range.to
  return (
    <svg ref={svg} class="timeline" height={height} role="img" aria-label={summaryOf(timeline)}>
      <clipPath id="plot">
        <rect x={LABEL} y={0} width={Math.max(0, plot + 8)} height={height} />
      </clipPath>
      {ticksIn(range.from, range.to, Math.max(2, Math.floor(plot / 75))).map((at) => (
        <g key={at} class="tick">
          <line x1={xOf(at)} x2={xOf(at)} y1={0} y2={tops.height} />
          <text x={Math.min(xOf(at), width - 36)} y={height - 8} text-anchor="middle">
            {tickText(at, range)}
          </text>
        </g>
      ))}
      {LANES.map(({ lane, word }) => (
        <text key={lane} class="lane" x={0} y={(tops.of.get(lane) ?? 0) + 15}>
          {word}
        </text>
      ))}
      <g clip-path="url(#plot)">
        {withoutCrowds(timeline.bars.filter(isSeen), xOf).map((bar, index) => (
          <BarView key={index} bar={bar} xOf={xOf} top={(tops.of.get(bar.lane) ?? 0) + bar.line * LINE} />
        ))}
        {timeline.marks
          .filter(({ at }) => at >= range.from && at <= range.to)
          .map((mark, index) => (
            <MarkView key={index} mark={mark} x={xOf(mark.at)} height={tops.height} />
          ))}
      </g>
    </svg>
  )
}

function topsOf(bars: readonly Bar[]): { of: Map<Lane, number>; height: number } {
  let height = 4
  const of = new Map<Lane, number>()
  for (const { lane } of LANES) {
    of.set(lane, height)
    height += linesOf(bars, lane) * LINE + GAP
  }
  return { of, height }
}

/** One bar for many that would be thinner than a line. */
function withoutCrowds(bars: readonly Bar[], xOf: (at: number) => number): Bar[] {
  const ends = new Map<string, number>()
  return bars.filter((bar) => {
    const line = `${bar.lane} ${bar.line}`
    const isHidden = xOf(bar.to) < (ends.get(line) ?? Number.NEGATIVE_INFINITY) + NARROW
    if (!isHidden) ends.set(line, xOf(bar.to))
    return !isHidden
  })
}

function BarView({ bar, xOf, top }: { bar: Bar; xOf: (at: number) => number; top: number }) {
  const x = Math.max(xOf(bar.from), LABEL - 10)
  const width = Math.max(2, xOf(bar.to) - x)
  const text = visibleText(bar.word).replaceAll('\n', ' ')
  return (
    <g class={`bar-${bar.lane} tone-${bar.tone}${bar.isOpen ? ' open' : ''}`}>
      <title>{visibleText(barText(bar))}</title>
      <rect x={x} y={top} width={width} height={LINE - 4} rx={Math.min(4, width / 2)} />
      {width > 40 && (
        <text x={Math.max(x, LABEL) + 6} y={top + 13}>
          {shortened(text, Math.floor((width - 10) / 7))}
        </text>
      )}
    </g>
  )
}

function shortened(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).trimEnd()}…`
}

const SIGNS: Record<Mark['kind'], string> = { kill: '✕', interruption: '■', continuation: '▶' }

function MarkView({ mark: { kind, word }, x, height }: { mark: Mark; x: number; height: number }) {
  return (
    <g class={`mark mark-${kind}`}>
      <title>{word}</title>
      <line x1={x} x2={x} y1={0} y2={height - 14} />
      <text x={x} y={height - 2} text-anchor="middle">
        {SIGNS[kind]}
      </text>
    </g>
  )
}

const DAY_MS = 86_400_000

function tickText(at: number, { from, to }: Range): string {
  const date = new Date(at)
  if (to - from > 2 * DAY_MS) return date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' })
  return to - from < 3000
    ? `${date.getSeconds()}.${String(date.getMilliseconds()).padStart(3, '0')}`
    : clockText(date.toISOString())
}

/** The alternative of the picture. The table below it has every bar. */
function summaryOf({ bars, marks }: Timeline): string {
  const count = (lane: Lane): number => bars.filter((bar) => bar.lane === lane).length
  const kills = marks.filter(({ kind }) => kind === 'kill').length
  const continuations = marks.filter(({ kind }) => kind === 'continuation').length
  return `${count('turn')} runs, ${count('request')} requests, ${count('tool')} tool calls, ${count('wait')} waits, ${kills} kills, ${continuations} continuations`
}
