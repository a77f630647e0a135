/**
 * The last result of a lab, in stress/results/NAME.json. Every lab takes `--record`, which writes the file. Without that
 * option a run writes no file, so a run of one case does not replace the result of a long run. docs/durability.md has a
 * table of these files, and test/docs/lab-results.test.ts compares the two.
 *
 * This is JavaScript because the labs that are not bundled use it too.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, release } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * @typedef {object} LabResult
 * @property {string} lab The name of the lab and of its file.
 * @property {string} commit With `-dirty` if the sources had uncommitted changes.
 * @property {string} date The day of the run, as in 2026-01-31.
 * @property {string} node
 * @property {string} machine
 * @property {string} options The options of the lab.
 * @property {string} sample Which part of all cases was run, in words.
 * @property {number} cases
 * @property {number | null} violations Null if the lab judges nothing.
 * @property {number | null} seconds Null if it was not recorded.
 * @property {unknown} [details] Figures that only this lab has.
 */

const repository = dirname(createRequire(import.meta.url).resolve('substrat/package.json'))
// The lab parses its own options and does not know this one.
const flag = process.argv.indexOf('--record')
const isRecorded = flag !== -1
if (isRecorded) process.argv.splice(flag, 1)
// Read at the start, because a commit may come during a long run.
const commit = isRecorded ? commitOfSources() : ''

/**
 * Writes the result of a run. Call it once, at the end. A run with a canary breaks the program and records nothing.
 *
 * @param {Pick<LabResult, 'lab' | 'sample' | 'cases' | 'violations' | 'details'>} result
 */
export function recordResult({ lab, sample, cases, violations, details }) {
  if (!isRecorded || process.argv.includes('--canary')) return
  /** @type {LabResult} */
  const result = {
    lab,
    commit,
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    machine: `${cpus().length} x ${cpus()[0]?.model.trim()}, ${process.platform} ${release()}`,
    options: process.argv.slice(2).join(' '),
    sample,
    cases,
    violations,
    seconds: Math.round(performance.now() / 1000),
    ...(details === undefined ? {} : { details }),
  }
  recordFile(`${lab}.json`, `${JSON.stringify(result, null, 2)}\n`)
}

/**
 * Writes a file beside the results, such as a plot.
 *
 * @param {string} name
 * @param {string} text
 */
export function recordFile(name, text) {
  if (!isRecorded) return
  const directory = join(repository, 'stress/results')
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, name), text)
}

/**
 * Writes an image that a page shows.
 *
 * @param {string} name
 * @param {string} text
 */
export function recordImage(name, text) {
  if (isRecorded) writeFileSync(join(repository, 'docs/images', name), text)
}

/**
 * The words of a sample: `12 of 122 scenarios`, `all 122 scenarios`.
 *
 * @param {number} count
 * @param {number} all
 * @param {string} noun
 */
export function countOf(count, all, noun) {
  return count === all ? `all ${all} ${noun}` : `${count} of ${all} ${noun}`
}

/**
 * The words of a sample: `every step`, `every 10th step`.
 *
 * @param {number} stride
 * @param {string} noun
 */
export function everyNth(stride, noun) {
  const ending =
    stride % 100 > 10 && stride % 100 < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][stride % 10] ?? 'th')
  return stride === 1 ? `every ${noun}` : `every ${stride}${ending} ${noun}`
}

function commitOfSources() {
  const git = (...argv) => execFileSync('git', argv, { cwd: repository, encoding: 'utf8' }).trim()
  const changes = git(
    'status',
    '--porcelain',
    '--',
    'src',
    'commands',
    'plugins',
    'stress',
    ':!stress/results',
  )
  return `${git('rev-parse', '--short', 'HEAD')}${changes === '' ? '' : '-dirty'}`
}
