/** The table of lab results in docs/durability.md is made from stress/results. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LabResult } from '../../stress/support/result.mjs'
import { tablesOf } from '../support/markdown.js'

const PAGE = 'docs/durability.md'
const RESULTS = 'stress/results'

/** The attack of each lab, and the unit of its cases. */
const LABS: Record<string, { attack: string; unit: string }> = {
  'kill-sweep': { attack: 'SIGKILL before a system call', unit: 'kills' },
  powercut: { attack: 'power cut on a model disk', unit: 'disk states' },
  'powercut-real': { attack: 'power cut on a real file system', unit: 'cuts' },
  'powercut-drops': { attack: 'one fsync left out', unit: 'fsyncs' },
  faults: { attack: 'failing disk', unit: 'faults' },
  damage: { attack: 'damaged file', unit: 'damages' },
  fuzz: { attack: 'random tree and crashes', unit: 'commands' },
  tree: { attack: 'kill during mail', unit: 'kills' },
  turns: { attack: 'kill or race during a turn', unit: 'runs' },
  signals: { attack: 'signal during a turn', unit: 'turns' },
  wire: { attack: 'mutated answer of a model', unit: 'answers' },
  security: { attack: 'hostile input', unit: 'inputs' },
  mutants: { attack: 'one safeguard removed', unit: 'mutants' },
  real: { attack: 'real agent program', unit: 'cases' },
  outbound: { attack: 'kill or failure while a message leaves', unit: 'messages' },
  faces: { attack: 'kill of a server, its client or a turn', unit: 'kills' },
  hosts: { attack: 'network, host or server fails', unit: 'faults' },
  'kill-postgres': { attack: 'SIGKILL at a call of the database', unit: 'kills' },
  'tree-postgres': { attack: 'kill during mail, in PostgreSQL', unit: 'kills' },
  'fuzz-postgres': { attack: 'random tree and kills, in PostgreSQL', unit: 'commands' },
  effects: { attack: 'kill during a call with an effect outside', unit: 'kills' },
  schedules: { attack: 'kill, sleep or clock jump', unit: 'slots' },
  budgets: { attack: 'kill under a budget', unit: 'kills' },
  'budgets-postgres': { attack: 'kill under a budget, two hosts', unit: 'kills' },
  'real-kills': { attack: 'kill of an agent program', unit: 'kills' },
}
/** Labs that do not test durability. */
const ELSEWHERE = ['bench', 'nodes', 'page', 'peer', 'postgres', 'serve', 'suite']

/** docs/comparison.md is made from this file, which has its own shape. */
const COMPARISON = 'comparison.json'

const results = new Map(
  readdirSync(RESULTS)
    .filter((name) => name.endsWith('.json') && name !== COMPARISON)
    .map((name) => {
      const result = JSON.parse(readFileSync(join(RESULTS, name), 'utf8')) as LabResult
      return [name.slice(0, -'.json'.length), result]
    }),
)

test('every file in stress/results is a lab result in one shape', () => {
  expect([...results.keys()].filter((name) => !(name in LABS) && !ELSEWHERE.includes(name))).toEqual([])
  const fields = [
    'lab',
    'commit',
    'date',
    'node',
    'machine',
    'options',
    'sample',
    'cases',
    'violations',
    'seconds',
  ]
  for (const [name, { details: _, ...result }] of results) {
    expect(Object.keys(result), name).toEqual(fields)
    expect(result.lab).toBe(name)
    expect(result.date, name).toMatch(/^\d{4}-\d\d-\d\d$/)
    expect(result.cases, name).toBeGreaterThan(0)
  }
})

test('docs/durability.md has the result of every lab (WRITE_DOCS=1 writes them)', () => {
  const rows = Object.entries(LABS).flatMap(([lab, { attack, unit }]) => {
    const result = results.get(lab)
    if (result === undefined) return []
    // Without their number: the code and its cases change more often than every lab runs.
    return [[attack, unit, String(result.violations)]]
  })
  if (process.env.WRITE_DOCS === '1') {
    const table = rows.map((row) => `| ${row.join(' | ')} |\n`).join('')
    const page = readFileSync(PAGE, 'utf8')
    writeFileSync(
      PAGE,
      page.replace(/(\|---\|---\|---:\|\n)(\|.*\n)*/, (_, head) => head + table),
    )
  }
  const table = tablesOf(readFileSync(PAGE, 'utf8')).find(({ heading }) => heading === 'How it is tested')
  expect(table?.rows).toEqual(rows)
})

test('docs/performance.md has every limit that the bench measures', () => {
  const rows = tablesOf(readFileSync('docs/performance.md', 'utf8'))[0]?.rows ?? []
  const limits = rows.map(([, , limit = '']) => numberIn(limit))
  const { details } = results.get('bench') as LabResult & { details: { rows: { target: string }[] } }
  const targets = details.rows.map(({ target }) => target).filter((target) => target !== '')
  expect(targets.length).toBeGreaterThan(0)
  expect(targets.filter((target) => !limits.includes(numberIn(target)))).toEqual([])
})

function numberIn(text: string): number {
  return Number(/[\d.]+/.exec(text)?.[0])
}
