/** No dead end: following the advice of an error leads to success or to a decision, and never does work twice. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXIT_STATUS } from '../../src/errors.js'
import { HISTORIES } from '../../stress/walker/histories.js'
import { ObservedProgram } from '../../stress/walker/program.js'
import { observed, pairsOf, sitesIn, sourcesWithSites } from '../../stress/walker/sites.js'
import { type Walk, Walker } from '../../stress/walker/walk.js'

const EXCEPTIONS = 'stress/walker/exceptions.tsv'

let program: ObservedProgram
let walker: Walker
const walks: Walk[] = []
beforeAll(() => {
  program = ObservedProgram.open()
  walker = new Walker(program)
})
afterAll(() => program.close())

test.concurrent.each(HISTORIES)('the advice leads to an end if $title', async (history) => {
  const walk = await walker.walk(history)
  walks.push(walk)
  expect(walk.deadEnd, walk.deadEnd).toBeUndefined()
  expect(walk.pairs).not.toEqual([])
})

test('each pair of an error code and its place in the sources was walked, or is an exception with a reason', () => {
  const pairs = [...sourcesWithSites().values()].flatMap(({ sites }) => pairsOf(sites))
  expect(pairs.length).toBeGreaterThan(200)
  const known = new Set(pairs)
  const walked = new Set(
    walks
      .flatMap((walk) => walk.pairs)
      .flatMap(({ place, code }) => [
        known.has(`${place} ${code}`) ? `${place} ${code}` : `${place} *`,
        `code ${code}`,
      ]),
  )
  const all = [...pairs, ...Object.keys(EXIT_STATUS).map((code) => `code ${code}`)]
  const reasons = exceptions()
  const open = all.filter((pair) => !walked.has(pair) && !reasons.has(pair))
  expect(open, `neither walked nor an exception:\n${open.join('\n')}`).toEqual([])
  const stale = [...reasons.keys()].filter((pair) => walked.has(pair) || !all.includes(pair))
  expect(stale, `exceptions that were walked, or are not in the sources:\n${stale.join('\n')}`).toEqual([])
  console.log(`walked ${walked.size} of ${all.length}; exceptions: ${reasons.size}`)
})

test('docs/errors.md has each code with its exit status, and names no command that its advice does not name', () => {
  const rows = [...readFileSync('docs/errors.md', 'utf8').matchAll(/^- `([A-Z_]+)` (\d+): (.*)$/gm)]
  const statuses = Object.fromEntries(rows.map(([, code, status]) => [code, Number(status)]))
  expect(statuses).toEqual(EXIT_STATUS)
  const unnamed = rows.flatMap(([, code, , row = '']) => {
    const hints = walks.flatMap(({ pairs }) =>
      pairs.filter((pair) => pair.code === code).map(({ hint }) => hint),
    )
    if (hints.length === 0) return []
    const commands = [...row.matchAll(/`(-*[a-z][a-z -]*)`/g)].map(([, command]) => command as string)
    return commands
      .filter((command) => !FIELDS.has(command) && !hints.some((hint) => hint.includes(command)))
      .map((command) => `${code}: ${command}`)
  })
  expect(unnamed).toEqual([])
})

/** Words in code type that are fields or causes; and `--timeout`, which only a second process has. */
const FIELDS = new Set(['wait', 'type', 'notify', 'cancel', 'terminate', '--timeout'])

test('an error in a new place is found, with the codes that it can have', () => {
  const source = `export function late(code: 'A' | 'B', s: string) {
    if (s === '') throw new SubstratError('LOCKED', 'x')
    throw new SubstratError(s === 'x' ? 'TIMED_OUT' : 'WAITING', 'y')
  }`
  const sites = sitesIn('x.ts', source)
  expect(pairsOf(sites)).toEqual([
    'src/x.ts#late LOCKED',
    'src/x.ts#late:2 TIMED_OUT',
    'src/x.ts#late:2 WAITING',
  ])
  expect(observed(source, sites)).toContain(
    `globalThis.substratSite("src/x.ts#late", new SubstratError('LOCKED'`,
  )
})

function exceptions(): Map<string, string> {
  const lines = readFileSync(EXCEPTIONS, 'utf8').split('\n')
  return new Map(
    lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const [pair = '', reason = ''] = line.split('\t')
        expect(reason, pair).not.toBe('')
        return [pair, reason]
      }),
  )
}
