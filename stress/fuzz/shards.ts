/** Runs several processes of the fuzzer in parallel, each with its own seeds. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repository } from '../support/lab.js'
import type { CampaignOptions, Totals } from './campaign.js'

export async function runShards(
  shards: number,
  options: CampaignOptions,
  canary: string | undefined,
): Promise<Totals[]> {
  const directory = mkdtempSync(join(tmpdir(), 'substrat-fuzz-'))
  try {
    const files = Array.from({ length: shards }, (_, shard) => join(directory, `${shard}.json`))
    const codes = await Promise.all(
      files.map((file, shard) => runShard(file, shard, shards, options, canary)),
    )
    if (codes.some((code) => code !== 0)) process.exitCode = 1
    const totals = files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Totals)
    if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(totals, null, 2)}\n`)
    return totals
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function runShard(
  json: string,
  shard: number,
  shards: number,
  { mode, seed, seeds, agents, hasWrongClocks, minutes, shrinkSeconds }: CampaignOptions,
  canary: string | undefined,
): Promise<number | null> {
  const flags = {
    mode,
    seed: seed + shard,
    stride: shards,
    'shrink-seconds': shrinkSeconds,
    json,
    ...(Number.isFinite(seeds) ? { seeds: Math.ceil(seeds / shards) } : {}),
    ...(agents === undefined ? {} : { agents }),
    ...(Number.isFinite(minutes) ? { minutes } : {}),
    ...(canary === undefined ? {} : { canary }),
  }
  const words = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, String(value)])
  if (hasWrongClocks) words.push('--wrong-clocks')
  const child = spawn(process.execPath, [join(repository, 'stress/run.mjs'), 'fuzz', ...words], {
    stdio: 'inherit',
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
}
