/** What the rules find in the texts of one file. */
import { readFileSync } from 'node:fs'
import { textsOf } from './texts.mjs'

const rules = JSON.parse(readFileSync(new URL('rules.json', import.meta.url), 'utf8'))
const patterns = rules.words.map(({ pattern, why }) => ({ pattern: new RegExp(pattern, 'i'), why }))

/** `kind` is `docs`, `help`, `message`, `comment` or `title`; `what` is the words that a rule forbids. */
export function findingsIn(file, text) {
  return textsOf(file, text).flatMap(({ kind, line, sentence }) =>
    isException(file, sentence)
      ? []
      : [...wordFindings(sentence), ...lengthFindings(kind, sentence)].map((found) => ({
          ...found,
          kind,
          line,
          sentence,
        })),
  )
}

/** The most words that a sentence of each kind has. */
export function longestIn(file, text) {
  const longest = {}
  for (const { kind, sentence } of textsOf(file, text))
    longest[kind] = Math.max(longest[kind] ?? 0, wordsIn(sentence))
  return longest
}

function wordFindings(sentence) {
  return patterns.flatMap(({ pattern, why }) => {
    const [what] = pattern.exec(sentence) ?? []
    return what === undefined ? [] : [{ what: what.trim(), why }]
  })
}

function lengthFindings(kind, sentence) {
  const max = rules.sentenceWordsMax[kind]
  const words = wordsIn(sentence)
  return max === undefined || words <= max
    ? []
    : [{ what: `${words} words`, why: `a sentence of ${kind} has at most ${max} words` }]
}

function wordsIn(sentence) {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

/** Each exception in rules.json has its reason. */
function isException(file, sentence) {
  return (rules.exceptions ?? []).some(
    (exception) => exception.file === file && sentence.includes(exception.text),
  )
}
