/**
 * The input of a tool call, shortened for a question to a person. All questions of a wait share one line of the log; the
 * call's own record has the whole input.
 */
export function shortenedInput(input: Record<string, unknown>, room: number): Record<string, unknown> {
  const whole = JSON.stringify(input)
  if (whole.length <= room) return input
  const fields = Object.entries(input)
  const each = Math.floor(room / fields.length)
  const names = fields.reduce((sum, [name]) => sum + name.length, 0)
  if (names > room / 2 || each < ASK_CHARACTERS_MIN) return { input: cutText(whole, room) }
  return Object.fromEntries(
    fields.map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      return [name, text.length <= each ? value : cutText(text, each)]
    }),
  )
}

/** A shorter excerpt of a field would tell a person nothing. */
const ASK_CHARACTERS_MIN = 100

function cutText(text: string, characters: number): string {
  return `${text.slice(0, characters)}… (${text.length} characters)`
}
