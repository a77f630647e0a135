/** The turns of an agent as a picture, and the same as a table. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { SessionRecord } from '../api/types.js'
import { dateText, durationText } from '../model/time.js'
import { barText, LANES, type Mark, type Timeline, timelineOf } from '../model/timeline.js'
import { Words } from '../parts/text.js'
import { type Range, useGestures, useZoom } from '../parts/zoom.js'
import { TimelinePicture } from './timeline-picture.js'

const TICK_MS = 500

export function TimelineView({
  records,
  isRunning,
}: {
  records: readonly SessionRecord[]
  isRunning: boolean
}) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [isRunning])
  // What is not running ends with the newest record, not now: an agent that waits for a week has no bar of a week.
  const newest = records.at(-1)?.ts
  const end = isRunning || newest === undefined ? now : Date.parse(newest)
  const timeline = useMemo(() => timelineOf(records, end), [records, end])
  if (timeline.bars.length === 0) return <p class="empty">No turn yet.</p>
  return <Zoomable timeline={timeline} />
}

function Zoomable({ timeline }: { timeline: Timeline }) {
  const all = { from: timeline.from, to: timeline.to }
  const zoom = useZoom(all, latestTurn(timeline))
  const { element, onKeyDown } = useGestures(zoom)
  return (
    <section aria-label="Timeline">
      <div class="bar timeline-bar">
        <p class="hint">
          {dateText(new Date(zoom.range.from).toISOString())}, {durationText(zoom.range.to - zoom.range.from)}
        </p>
        <div class="buttons">
          <button type="button" class="plain" aria-label="Earlier" onClick={() => zoom.moveBy(-0.5)}>
            ←
          </button>
          <button type="button" class="plain" aria-label="Later" onClick={() => zoom.moveBy(0.5)}>
            →
          </button>
          <button type="button" class="plain" aria-label="Zoom out" onClick={() => zoom.zoomBy(1 / 2)}>
            −
          </button>
          <button type="button" class="plain" aria-label="Zoom in" onClick={() => zoom.zoomBy(2)}>
            +
          </button>
          <button type="button" class="plain" onClick={() => zoom.show(latestTurn(timeline))}>
            Latest turn
          </button>
          <button type="button" class="plain" onClick={() => zoom.show(all)}>
            All
          </button>
        </div>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a picture that takes keys has no element of its own */}
      <div
        class="timeline-box"
        ref={element}
        role="group"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keys zoom and move the picture
        tabIndex={0}
        aria-label="Picture of the turns. Plus and minus zoom, the arrow keys move, zero shows all."
        onKeyDown={(event) => onKeyDown(event, all)}
      >
        <TimelinePicture timeline={timeline} range={zoom.range} />
      </div>
      <Legend />
      <BarTable timeline={timeline} />
    </section>
  )
}

/** Also its gaps and continuations: they are part of the same turn. */
function latestTurn({ bars, from, to }: Timeline): Range {
  const turns = bars.filter(({ lane }) => lane === 'turn')
  const name = (word: string | undefined): string => /^turn \d+/.exec(word ?? '')?.[0] ?? ''
  const latest = name(turns.at(-1)?.word)
  const first = turns.find(({ word }) => name(word) === latest)?.from ?? from
  const margin = (to - first) / 30
  return { from: first - margin, to: to + margin }
}

const MARK_WORDS: Record<Mark['kind'], string> = {
  kill: 'Killed',
  interruption: 'Interrupted',
  continuation: 'Continued',
}

function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      <li class="tone-run">
        <i class="swatch" /> runs
      </li>
      <li class="tone-good">
        <i class="swatch" /> completed
      </li>
      <li class="tone-wait">
        <i class="swatch" /> waits
      </li>
      <li class="tone-bad">
        <i class="swatch" /> failed or interrupted
      </li>
      <li>
        <b>✕</b> killed
      </li>
      <li>
        <b>▶</b> continued
      </li>
    </ul>
  )
}

const ROWS_MAX = 500

function BarTable({ timeline: { bars, marks } }: { timeline: Timeline }) {
  const words = new Map(LANES.map(({ lane, word }) => [lane, word]))
  const rows = [
    ...bars.map((bar) => ({ at: bar.from, what: words.get(bar.lane) ?? '', text: barText(bar) })),
    ...marks.map(({ at, kind, word }) => ({ at, what: MARK_WORDS[kind], text: word })),
  ].sort((a, b) => a.at - b.at)
  return (
    <details class="table-fold">
      <summary>The same as a table ({rows.length} rows)</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">Start</th>
            <th scope="col">Kind</th>
            <th scope="col">What</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(-ROWS_MAX).map(({ at, what, text }, index) => (
            <tr key={index}>
              <td>{dateText(new Date(at).toISOString())}</td>
              <td>{what}</td>
              <td>
                <Words text={text} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}
