// npm run stress:turns -- [--only rows,conversation,orphans,tokens,cancel] [--calls 30] [--kills 50] [--rounds 100] [--page FILE]
// Kills and races real processes in a turn. Exits 1 if the turn engine breaks a promise.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { whyNoStrace } from './kill/strace.js'
import { Lab } from './support/lab.js'
import type { ModelProviderName } from './support/model.js'
import { recordResult } from './support/result.mjs'
import { cancelTimes } from './turns/cancel.js'
import { killedConversation, type UnknownTool } from './turns/conversation.js'
import { killedTools } from './turns/orphans.js'
import { killedRows, rowsPage } from './turns/rows.js'
import { racedTokens } from './turns/tokens.js'

const PROCESSES = 20
const CANCEL_MS_TARGET = 100

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'rows,conversation,orphans,tokens,cancel' },
    calls: { type: 'string', default: '30' },
    kills: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '100' },
    runs: { type: 'string', default: '30' },
    /** The models of the conversation. A plugin talks to the strict loopback model. */
    through: { type: 'string', default: 'scripted,openai,anthropic' },
    /** Writes the page of the rows to this file. */
    page: { type: 'string' },
  },
})

const EXPERIMENTS: Record<string, (lab: Lab) => Promise<string[]>> = {
  async rows(lab) {
    const reports = await killedRows(lab)
    tried.cases += reports.length
    if (values.page !== undefined) writeFileSync(values.page, rowsPage(reports))
    const wrong = reports.filter(({ row, found }) => found !== undefined && found !== row && row !== 'K')
    console.log(
      `rows: ${reports.length} kills, ${new Set(reports.map(({ row }) => row)).size} rows of the table`,
    )
    return wrong.map(({ row, found }) => `the kill for row ${row} left row ${found}`)
  },
  async conversation(lab) {
    const differences: string[] = []
    const kinds = ['stop', 'continue'].flatMap((unknownTool) =>
      values.through.split(',').map((through) => [unknownTool, through] as const),
    ) as [UnknownTool, ModelProviderName | 'scripted'][]
    for (const [unknownTool, through] of kinds) {
      const report = await killedConversation(lab, unknownTool, Number(values.calls), through)
      const { calls, kills, stepsKilled, interrupted } = report
      tried.cases += kills
      console.log(
        `conversation, ${unknownTool}, ${through}: ${calls} calls, ${kills} kills, ${stepsKilled} calls without a result when killed, ${interrupted} results interrupted, ${report.differences.length} differences`,
      )
      differences.push(...report.differences)
      if (stepsKilled < calls) differences.push(`only ${stepsKilled} of ${calls} calls were killed`)
    }
    return differences
  },
  async orphans(lab) {
    const { kills, running, orphans } = await killedTools(lab, Number(values.kills))
    tried.cases += kills
    console.log(`orphans: ${kills} kills while ${running} tool processes ran; ${orphans} survived`)
    return orphans === 0 ? [] : [`${orphans} orphans`]
  },
  async tokens(lab) {
    const report = await racedTokens(lab, Number(values.rounds), PROCESSES)
    const { rounds, processes, answered, refused, differences } = report
    tried.cases += rounds
    console.log(
      `tokens: ${rounds} rounds of ${processes} processes: ${answered} got the outcome, ${refused} refused, ${differences.length} differences`,
    )
    return differences
  },
  async cancel(lab) {
    const times = (await cancelTimes(lab, Number(values.runs))).sort((a, b) => a - b)
    if (times.length === 0) return ['no run could be measured']
    tried.cases += times.length
    const [median, max] = [times[Math.floor(times.length / 2)] as number, times.at(-1) as number]
    console.log(
      `cancel: ${times.length} runs, request to last process gone: median ${median.toFixed(0)} ms, max ${max.toFixed(0)} ms (target ${CANCEL_MS_TARGET} ms)`,
    )
    return median <= CANCEL_MS_TARGET ? [] : [`the median is over ${CANCEL_MS_TARGET} ms`]
  },
}

const tried = { cases: 0, violations: 0 }
const parts: string[] = []
const NEEDS_STRACE = new Set(['rows', 'conversation'])
const why = whyNoStrace()
const lab = Lab.open()
try {
  await lab.warm()
  for (const name of values.only.split(',')) {
    const experiment = EXPERIMENTS[name]
    if (experiment === undefined)
      throw new Error(`--only takes some of: ${Object.keys(EXPERIMENTS).join(', ')}`)
    if (why !== undefined && NEEDS_STRACE.has(name)) {
      console.log(`${name}: skipped, ${why}`)
      continue
    }
    const started = performance.now()
    const broken = await experiment(lab)
    console.log(`  ${((performance.now() - started) / 1000).toFixed(0)} s`)
    for (const what of broken.slice(0, 20)) console.log(`  BROKEN: ${what}`)
    parts.push(name)
    tried.violations += broken.length
    if (broken.length > 0) process.exitCode = 1
  }
  recordResult({ lab: 'turns', sample: parts.join(', '), ...tried })
} finally {
  lab.close()
}
