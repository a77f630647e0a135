/** Tokens and costs over time, by agent and by model: as plots, and as tables. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api/client.js'
import { Problem } from '../api/problem.js'
import type { UsageReport, UsageRow } from '../api/types.js'
import { toldOf } from '../model/problem-words.js'
import { costText, countText, shortCount } from '../model/time.js'
import { Words } from '../parts/text.js'
import { agents } from '../state/home.js'
import { agentLink } from '../state/router.js'
import { useStore } from '../state/store.js'
import { DayPlot } from './day-plot.js'

const PERIODS = [
  { days: 7, word: '7 days' },
  { days: 30, word: '30 days' },
  { days: 90, word: '90 days' },
  { days: 0, word: 'All' },
]
const DAY_MS = 86_400_000
const AGENTS_SHOWN = 20

interface Reports {
  day: UsageReport
  agent: UsageReport
  model: UsageReport
}

export function UsageView() {
  const [days, setDays] = useState(30)
  const reports = useReports(days)
  return (
    <div class="column">
      <div class="bar">
        <h1>Usage</h1>
        <fieldset class="choice">
          <legend class="visually-hidden">Period</legend>
          {PERIODS.map((period) => (
            <label key={period.days}>
              <input
                type="radio"
                name="period"
                checked={period.days === days}
                onChange={() => setDays(period.days)}
              />
              <span>{period.word}</span>
            </label>
          ))}
        </fieldset>
      </div>
      {reports === undefined && (
        <p class="empty" role="status">
          Adding up…
        </p>
      )}
      {reports instanceof Problem && (
        <p class="empty" role="alert">
          {toldOf(reports).text}
        </p>
      )}
      {reports !== undefined && !(reports instanceof Problem) && <Shown reports={reports} days={days} />}
    </div>
  )
}

/** Read again when the number of agents changes, and when the period does. A running turn has no usage yet. */
function useReports(days: number): Reports | Problem | undefined {
  const [reports, setReports] = useState<Reports | Problem>()
  const size = useStore(agents)?.size
  useEffect(() => {
    const abort = new AbortController()
    const from = new Date(Date.now() - (days - 1) * DAY_MS)
    from.setUTCHours(0, 0, 0, 0)
    const since = days === 0 ? {} : { since: from.toISOString() }
    const read = (by: 'day' | 'agent' | 'model') =>
      call('showUsage', { query: { all: 'true', by, ...since }, signal: abort.signal })
    Promise.all([read('day'), read('agent'), read('model')]).then(
      ([day, agent, model]) => setReports({ day, agent, model }),
      (error) => error instanceof Problem && setReports(error),
    )
    return () => abort.abort()
  }, [days, size])
  return reports
}

function Shown({ reports: { day, agent, model }, days }: { reports: Reports; days: number }) {
  const { total } = day
  const mostUsed = [...agent.rows].sort((a, b) => tokensOf(b) - tokensOf(a)).slice(0, AGENTS_SHOWN)
  return (
    <>
      <dl class="totals">
        <Total name="Input tokens" value={shortCount(total.input_tokens)} />
        <Total name="Output tokens" value={shortCount(total.output_tokens)} />
        <Total name="Cost" value={total.cost_usd === undefined ? 'unknown' : costText(total.cost_usd)} />
        <Total name="Runs" value={countText(total.runs)} />
      </dl>
      <section class="card" aria-label="Tokens by day">
        <h2>Tokens by day</h2>
        <DayPlot rows={day.rows} days={days} />
        <details class="table-fold">
          <summary>The same as a table</summary>
          <UsageTable name="Day" rows={day.rows} nameOf={(row) => row.day ?? ''} />
        </details>
      </section>
      <section class="card" aria-label="By agent">
        <h2>By agent</h2>
        <Shares rows={mostUsed} />
        {agent.rows.length > AGENTS_SHOWN && (
          <p class="hint">
            The {AGENTS_SHOWN} agents with the most tokens, of {agent.rows.length}.
          </p>
        )}
        <details class="table-fold">
          <summary>The same as a table</summary>
          <UsageTable name="Agent" rows={mostUsed} nameOf={(row) => row.path ?? ''} />
        </details>
      </section>
      <section class="card" aria-label="By model">
        <h2>By model</h2>
        <UsageTable name="Model" rows={model.rows} nameOf={(row) => row.model ?? 'unknown'} />
      </section>
      {day.damaged.length > 0 && (
        <p class="error" role="alert">
          {day.damaged.length} agents are not counted, because their logs cannot be read: substrat doctor
        </p>
      )}
    </>
  )
}

function tokensOf({ input_tokens: input, output_tokens: output }: UsageRow): number {
  return input + output
}

function Total({ name, value }: { name: string; value: string }) {
  return (
    <div class="card">
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

/** A bar for each agent. Its length repeats the numbers beside it. */
function Shares({ rows }: { rows: readonly UsageRow[] }) {
  const most = Math.max(1, ...rows.map(tokensOf))
  if (rows.length === 0) return <p class="hint">No usage in this period.</p>
  return (
    <ul class="shares">
      {rows.map((row) => (
        <li key={row.agent_id}>
          <a href={agentLink(row.agent_id ?? '')}>
            <Words text={row.path ?? ''} />
          </a>
          <span class="share" aria-hidden="true">
            <span style={{ width: `${(tokensOf(row) / most) * 100}%` }} />
          </span>
          <span class="hint">
            {shortCount(tokensOf(row))} tokens
            {row.cost_usd === undefined ? '' : `, ${costText(row.cost_usd)}`}
          </span>
        </li>
      ))}
    </ul>
  )
}

function UsageTable(props: { name: string; rows: readonly UsageRow[]; nameOf: (row: UsageRow) => string }) {
  const { name, rows, nameOf } = props
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{name}</th>
          {['Input', 'Output', 'Cost', 'Runs'].map((word) => (
            <th key={word} scope="col" class="number">
              {word}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={nameOf(row)}>
            <td>
              <Words text={nameOf(row)} />
            </td>
            <td class="number">{countText(row.input_tokens)}</td>
            <td class="number">{countText(row.output_tokens)}</td>
            <td class="number">{row.cost_usd === undefined ? '–' : costText(row.cost_usd)}</td>
            <td class="number">{countText(row.runs)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
