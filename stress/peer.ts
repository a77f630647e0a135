// npm run stress:peer -- [--kills 20] [--json FILE] [--record]
// acpx, the nearest peer, drives a real agent program against the loopback model. This lab kills it in the same ways as
// `npm run test:real -- --kills` kills substrat. It counts the outcomes for the comparison and judges none of them.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { Acpx } from './peer/acpx.js'
import { clearAway, killPeer, PEER_MODES, type PeerKill } from './peer/kill.js'
import { codexAcp } from './real/codex.js'
import type { Phase } from './real/kills/job.js'
import { recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: { kills: { type: 'string', default: '20' }, json: { type: 'string' } },
})
const PHASES: Phase[] = ['thinking', 'tool', 'after tool']
/** The first prompt also starts the owner of the queue, so the second one is measured. */
const WARM_UP = 'hello'

const acpx = await Acpx.open(codexAcp, '')
try {
  const version = await acpx.version()
  const syncs = await syncsOfPrompt()
  const kills: PeerKill[] = []
  const cells = PEER_MODES.flatMap((mode) => PHASES.map((phase) => ({ mode, phase })))
  for (let number = 0; number < Number(values.kills); number++) {
    const { mode, phase } = cells[number % cells.length] as (typeof cells)[number]
    const kill = await killPeer(acpx, mode, phase, number)
    kills.push(kill)
    console.log(JSON.stringify(kill))
  }
  const result = { peer: `acpx ${version}`, program: codexAcp.packages, syncs, kills }
  recordResult({
    lab: 'peer',
    sample: `acpx ${version} with Codex over ACP`,
    cases: kills.length,
    violations: null,
    details: result,
  })
  if (values.json !== undefined) {
    mkdirSync(dirname(values.json), { recursive: true })
    writeFileSync(values.json, `${JSON.stringify(result, null, 1)}\n`)
  }
  console.log(summary(kills, syncs))
} finally {
  await acpx.trial.close()
}

async function syncsOfPrompt(): Promise<number> {
  acpx.trial.model.answer = () => ({ text: 'ok' })
  await acpx.begin()
  await acpx.prompt(WARM_UP).ended
  await clearAway(acpx)
  const syncs = await acpx.countSyncs(WARM_UP, join(acpx.trial.place.workspace, 'strace'))
  await clearAway(acpx)
  return syncs
}

function summary(kills: PeerKill[], syncs: number): string {
  const many = (holds: (kill: PeerKill) => boolean): number => kills.filter(holds).length
  return [
    `${kills.length} kills, ${syncs} fsyncs for a prompt`,
    `continued by itself: ${many(({ wentOn }) => wentOn)}`,
    `replied when the same command was repeated: ${many(({ replied }) => replied)}`,
    `work done once: ${many(({ timesDone }) => timesDone === 1)}, more often: ${many(({ timesDone }) => timesDone > 1)}`,
    `the prompt is in the native session more than once: ${many(({ bare }) => bare > 1)}`,
    `the model was informed of the interruption: ${many(({ told }) => told)}`,
    `processes were left: ${many(({ left }) => left > 0)}`,
  ].join('\n')
}
