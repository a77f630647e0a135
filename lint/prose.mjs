/**
 * Checks the English of every text that a person reads: docs, help, messages, comments and test titles. The rules are in
 * rules.json. Usage: node lint/prose.mjs [--count] [PATH …]
 */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { textsOf } from './texts.mjs'

const {
  words,
  sentenceWordsMax,
  exceptions = [],
} = JSON.parse(readFileSync(new URL('rules.json', import.meta.url), 'utf8'))
const patterns = words.map(({ pattern, why }) => ({ pattern: new RegExp(pattern), why }))

const argv = process.argv.slice(2)
const isCount = argv[0] === '--count'
const paths = isCount ? argv.slice(1) : argv
const files = execFileSync('git', ['ls-files', '--', ...paths], { encoding: 'utf8' })
  .split('\n')
  .filter(Boolean)

const counts = new Map()
let findings = 0
const longest = { docs: 0, help: 0 }
for (const file of files) {
  for (const { kind, line, sentence } of textsOf(file)) {
    const length = sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
    if (length > (longest[kind] ?? 0)) longest[kind] = length
    if (exceptions.some((exception) => exception.file === file && sentence.includes(exception.text))) continue
    const found = patterns
      .filter(({ pattern }) => pattern.test(sentence))
      .map(({ pattern, why }) => ({ what: pattern.exec(sentence)[0].trim(), why }))
    const max = sentenceWordsMax[kind]
    if (max !== undefined && length > max)
      found.push({ what: `${length} words`, why: `${kind}: at most ${max}` })
    for (const { what, why } of found) {
      findings += 1
      const key = `${kind}\t${why}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
      if (!isCount) console.log(`${file}:${line}: ${kind}: "${what}": ${why}\n    ${sentence}`)
    }
  }
}
if (isCount) {
  for (const [key, count] of [...counts].sort(([, a], [, b]) => b - a)) console.log(`${count}\t${key}`)
  console.log(JSON.stringify(longest))
}
console.log(`${findings} findings in ${files.length} files`)
process.exitCode = findings === 0 ? 0 : 1
