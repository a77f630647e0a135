/** The output of `serve token list` without `--json`. */
import { readableTime } from '../../clock.js'
import type { ListedToken } from '../../operations/serve-tokens.js'
import { table } from './table.js'

export function serveTokensText(tokens: readonly ListedToken[]): string {
  if (tokens.length === 0) return 'no named tokens; add one: substrat serve token add phone --may answer'
  return table(['NAME', 'MAY', 'CREATED'], tokens, ({ name, may, created_at }) => [
    name,
    may,
    readableTime(created_at),
  ])
}
