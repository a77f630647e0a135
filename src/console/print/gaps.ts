const EMPTY_LINES_MAX = 5
const SPACES_MAX = 80

/** A gap of many lines or spaces would move the text before it out of the window. */
export function withoutGaps(text: string): string {
  return text
    .replace(/\n(?:[^\S\n]*\n)+/g, (gap) => {
      const lines = gap.split('\n').length - 2
      return lines > EMPTY_LINES_MAX ? `\n[${lines} empty lines]\n` : gap
    })
    .replace(/[^\S\n]+/g, (gap) => (gap.length > SPACES_MAX ? ` [${gap.length} spaces] ` : gap))
}
