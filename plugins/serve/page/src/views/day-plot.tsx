/** Input and output tokens of each day, as stacked bars. */
import type { UsageRow } from '../api/types.js'
import { shortCount } from '../model/time.js'
import { daysOf, niceCeiling } from '../model/usage.js'
import { useWidth } from '../parts/width.js'

const HEIGHT = 220
const LEFT = 44
const BOTTOM = 24
const TOP = 8
const GRID = 4
/** Of a day on the axis. */
const LABEL = 60

export function DayPlot({ rows, days }: { rows: readonly UsageRow[]; days: number }) {
  const { svg, width: whole } = useWidth(800)
  const shown = daysOf(rows, days, new Date())
  const most = niceCeiling(Math.max(1, ...shown.map(({ input, output }) => input + output)))
  const slot = Math.max(0, whole - LEFT) / Math.max(1, shown.length)
  const yOf = (tokens: number): number => TOP + (1 - tokens / most) * (HEIGHT - BOTTOM - TOP)
  const every = Math.max(1, Math.ceil(LABEL / Math.max(1, slot)))
  const used = shown.filter(({ input, output }) => input + output > 0).length
  return (
    <>
      <svg
        ref={svg}
        class="plot"
        height={HEIGHT}
        role="img"
        aria-label={`Tokens of ${shown.length} days, ${used} of them with usage, at most ${shortCount(most)} a day. The table has the numbers.`}
      >
        {Array.from({ length: GRID + 1 }, (_, index) => (most * index) / GRID).map((tokens) => (
          <g key={tokens}>
            <line x1={LEFT} x2={whole} y1={yOf(tokens)} y2={yOf(tokens)} />
            <text x={LEFT - 8} y={yOf(tokens) + 4} text-anchor="end">
              {shortCount(tokens)}
            </text>
          </g>
        ))}
        {shown.map(({ day, input, output }, index) => {
          const x = LEFT + index * slot
          const width = Math.max(1, Math.min(slot * 0.7, 36))
          const at = x + (slot - width) / 2
          return (
            <g key={day}>
              <title>{`${day}: ${shortCount(input)} in, ${shortCount(output)} out`}</title>
              <rect class="input" x={at} y={yOf(input)} width={width} height={yOf(0) - yOf(input)} />
              <rect
                class="output"
                x={at}
                y={yOf(input + output)}
                width={width}
                height={yOf(0) - yOf(output)}
              />
              {index % every === 0 && (
                <text x={Math.min(x + slot / 2, whole - 18)} y={HEIGHT - 6} text-anchor="middle">
                  {day.slice(5)}
                </text>
              )}
            </g>
          )
        })}
      </svg>
      <ul class="legend" aria-label="Legend">
        <li>
          <i class="swatch input" /> input
        </li>
        <li>
          <i class="swatch output" /> output
        </li>
      </ul>
    </>
  )
}
