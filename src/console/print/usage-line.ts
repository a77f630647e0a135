/** The usage of one turn in a line, while it runs and after its end. */
import type { Usage } from '../../schema/types.js'
import type { Signs } from '../live/signs.js'
import { elapsedText } from './elapsed.js'

/** `12 s · 1.2k in 56 out · $0.04`. Only the time if the provider reported no usage. */
export function closingLine(ms: number, usage: Usage | null, { dot, dim }: Signs): string {
  const used = usage === null ? [] : usageTexts(usage)
  return dim.join([elapsedText(ms), ...used].join(` ${dot} `))
}

/** `1.2k in 56 out` and `$0.04`. Nothing before the first count. */
export function usageTexts({ input_tokens, output_tokens, cost_usd = 0 }: Usage): string[] {
  if (input_tokens + output_tokens === 0) return []
  const tokens = `${countText(input_tokens)} in ${countText(output_tokens)} out`
  return cost_usd === 0 ? [tokens] : [tokens, `$${cost_usd.toFixed(cost_usd < 0.01 ? 4 : 2)}`]
}

export function countText(count: number): string {
  if (count < 1000) return String(count)
  const [unit, sign] = count < 999_500 ? [1000, 'k'] : [1_000_000, 'M']
  const value = count / unit
  return `${value < 10 ? value.toFixed(1).replace(/\.0$/, '') : Math.round(value)}${sign}`
}
