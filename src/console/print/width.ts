/** The columns that text takes in a terminal, where East Asian characters and emoji are two columns wide. */

import { isAscii } from '../output.js'

const ASCII = /^[\x20-\x7e]*$/
const MARKS_ONLY = /^\p{Mark}+$/u
const WIDE =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]/u

export function displayWidth(text: string): number {
  return ASCII.test(text) ? text.length : charactersOf(text).reduce((sum, each) => sum + widthOf(each), 0)
}

/** The beginning of the text that fits, with an ellipsis if something is left out. */
export function fitted(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  const end = ellipsis()
  let [line, left] = ['', columns - end.length]
  for (const character of charactersOf(text)) {
    left -= widthOf(character)
    if (left < 0) break
    line += character
  }
  return (line.trimEnd() + end).slice(0, Math.max(columns, 0))
}

export function ellipsis(): string {
  return isAscii() ? '...' : '…'
}

export function paddedTo(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(columns - displayWidth(text), 0))
}

/** Characters as a person sees them: a letter with its marks is one. */
function charactersOf(text: string): string[] {
  return ASCII.test(text) ? [...text] : [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment)
}

function widthOf(character: string): number {
  return MARKS_ONLY.test(character) ? 0 : WIDE.test(character) ? 2 : 1
}
