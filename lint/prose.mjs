/**
 * Checks the English of every text that a person reads: docs, help, messages, comments and test titles. The rules are in
 * rules.json. Usage: node lint/prose.mjs [--count] [PATH …]
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { findingsIn, longestIn } from './findings.mjs'

const argv = process.argv.slice(2)
const isCount = argv[0] === '--count'
const paths = isCount ? argv.slice(1) : argv
const listed = execFileSync('git', ['ls-files', '--', ...paths], { encoding: 'utf8' }).split('\n')
const files = listed.filter((file) => file !== '' && existsSync(file))

const counts = new Map()
const longest = {}
let total = 0
for (const file of files) {
  const text = readFileSync(file, 'utf8')
  for (const [kind, words] of Object.entries(longestIn(file, text)))
    longest[kind] = Math.max(longest[kind] ?? 0, words)
  for (const { kind, line, sentence, what, why } of findingsIn(file, text)) {
    total += 1
    counts.set(`${kind}: ${why}`, (counts.get(`${kind}: ${why}`) ?? 0) + 1)
    if (!isCount) console.log(`${file}:${line}: ${kind}: "${what}": ${why}\n    ${sentence}`)
  }
}
if (isCount) {
  for (const [rule, count] of [...counts].sort(([, a], [, b]) => b - a)) console.log(`${count}  ${rule}`)
  console.log(`longest sentences, in words: ${JSON.stringify(longest)}`)
}
console.log(`${total} findings in ${files.length} files`)
process.exitCode = total === 0 ? 0 : 1
