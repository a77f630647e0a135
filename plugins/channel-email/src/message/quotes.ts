/**
 * Removes the quoted message from an answer, so that its first line is what the person wrote.
 *
 * A quote between two paragraphs of the person stays, because they speak about it.
 */

/** `isAnswer`: the mail answers another one. Text that a first mail quotes is part of it. */
export function withoutQuotes(text: string, isAnswer: boolean): string {
  const lines = withoutSignature(text.replace(/\r\n?/g, '\n').split('\n'))
  if (!isAnswer) return lines.join('\n').trim()
  const above = aboveOriginal(lines)
  const end = trailingQuote(above)
  const rest = above.slice(0, end)
  const start = leadingQuote(rest)
  return rest.slice(start).join('\n').trim()
}

function isBlank(line: string | undefined): boolean {
  return line?.trim() === ''
}

function isQuoted(line: string | undefined): boolean {
  return /^\s?>/.test(line ?? '')
}

/** "-- " begins the signature. */
function withoutSignature(lines: string[]): string[] {
  const at = lines.lastIndexOf('-- ')
  return at === -1 ? lines : lines.slice(0, at).concat(lines.slice(at).filter(isQuoted))
}

/** Some programs repeat the message below a line, without marks. */
function aboveOriginal(lines: string[]): string[] {
  const at = lines.findIndex((line, index) => {
    if (/^-{3,}[^-]{3,60}-{3,}\s*$/.test(line)) return isHead(lines, index + 1)
    return /^_{10,}\s*$/.test(line) && isHead(lines, index + 1)
  })
  return at === -1 ? lines : lines.slice(0, at)
}

/** The fields of the message that follows: at least two of the next lines are "Word: text". */
function isHead(lines: string[], start: number): boolean {
  const next = lines.slice(start, start + 6).filter((line) => !isBlank(line))
  return next.slice(0, 3).filter((line) => /^\*?\p{L}[\p{L} -]{1,20}:\*?\s/u.test(line)).length >= 2
}

/** Where the quote at the end begins, with its introduction. The end of the text if there is none. */
function trailingQuote(lines: string[]): number {
  let end = lines.length
  while (end > 0 && (isBlank(lines[end - 1]) || isQuoted(lines[end - 1]))) end -= 1
  if (!lines.slice(end).some(isQuoted)) return lines.length
  const start = introductionBefore(lines, end)
  // Without an introduction, the person may have quoted what the mail is about.
  return start === end && end > 0 && /:\s*$/.test(lines[end - 1] as string) ? lines.length : start
}

/** Index after a leading quote, if the person wrote everything below it. */
function leadingQuote(lines: string[]): number {
  const first = lines.findIndex(isQuoted)
  if (first === -1) return 0
  const isOnlyIntroduction = introductionBefore(lines, first) === firstText(lines)
  if (!isOnlyIntroduction && lines.slice(0, first).some((line) => !isBlank(line))) return 0
  let end = first
  while (end < lines.length && (isQuoted(lines[end]) || isBlank(lines[end]))) end += 1
  const isMore = lines.slice(end).some(isQuoted)
  return isMore || end === lines.length ? 0 : end
}

function firstText(lines: string[]): number {
  return lines.findIndex((line) => !isBlank(line))
}

/** "On Monday at 10:12, Ann <ann@example.org> wrote:" in any language, also in up to three lines. */
function introductionBefore(lines: string[], quote: number): number {
  let last = quote - 1
  while (last >= 0 && isBlank(lines[last])) last -= 1
  if (last < 0 || !/:\s*$/.test(lines[last] as string)) return quote
  for (let first = last; first >= 0 && first > last - 3 && !isBlank(lines[first]); first--) {
    const text = lines.slice(first, last + 1).join(' ')
    if (/\d{1,2}[:.h]\d{2}|\b\d{4}\b|\S@\S/.test(text) && /\p{L}/u.test(text)) return first
  }
  return quote
}
