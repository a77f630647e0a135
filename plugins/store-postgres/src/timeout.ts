const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** How long the user lets this command wait: by its flag, or by the setting. Undefined if neither says it. */
export function timeoutMs(argv: string[], env: NodeJS.ProcessEnv): number | undefined {
  const at = argv.findIndex((word) => word === '--timeout' || word.startsWith('--timeout='))
  const given = argv[at]?.split('=', 2)[1] ?? (at < 0 ? env.SUBSTRAT_TIMEOUT : argv[at + 1])
  const [, count, unit = ''] = /^\s*(\d+(?:\.\d+)?)(ms|s|m|h|d)\s*$/.exec(given ?? '') ?? []
  return count === undefined ? undefined : Number(count) * (UNIT_MS[unit] as number)
}
