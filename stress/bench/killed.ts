/** Killed turns: the time of `recover --all` with many of them, and the time until the next command has the lock. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FileStore } from '../../src/storage/file-store.js'
import { resolveAgent } from '../../src/tree/names.js'
import { waitFor } from '../../test/support/wait.js'
import type { Lab, Started } from '../support/lab.js'
import { homeOf, multiply, putBack } from './homes.js'
import { medianAndLeast, type Subject, sampleInTurn } from './measure.js'
import { fewRounds, type Run } from './run.js'
import { type Row, ratio, row } from './table.js'

const UNCLEAN = 100
const OF_RECOVER = { atMost: 1.2, floor: '1' }
const OF_WAIT = { atMost: 20, floor: '0' }
/** The exit status of `recover` if it marked a turn as interrupted. */
const INTERRUPTED = 6

export async function recoverRows(run: Run): Promise<Row[]> {
  const { lab } = run
  const many = Math.max(run.agents / 10, 2 * UNCLEAN)
  const subjects: Subject[] = []
  for (const agents of [UNCLEAN, many]) {
    const home = await homeOf(lab, Math.max(1, agents - UNCLEAN - 1))
    const { started } = await midTurn(lab, home, 'k-0000000')
    await kill(started)
    const killed = multiply(home, 'k-0000000', UNCLEAN)
    await lab.run(home, ['recover', 'k-0000000', '--continue', 'none'])
    const argv = [lab.cli, 'recover', '--all', '--continue', 'none']
    const prepare = (): void => putBack(home, killed)
    subjects.push({ name: `recover of ${agents}`, home, argv, prepare, status: INTERRUPTED })
  }
  const [few, all] = subjects as [Subject, Subject]
  const samples = sampleInTurn(lab, subjects, fewRounds(run))
  const what = `recover --all, ${UNCLEAN} unclean of ${many} agents / of ${UNCLEAN}`
  return [ratio(what, samples.wallMs(all), samples.wallMs(few), 'ms', OF_RECOVER)]
}

export async function waitRows(run: Run): Promise<Row[]> {
  const { lab } = run
  const home = lab.newHome()
  const waits: number[] = []
  for (let round = 0; round < fewRounds(run) * 2; round++)
    waits.push(await waitedFor(lab, home, `a-${round}`))
  const { median } = medianAndLeast(waits)
  const said = `${median.toFixed(1)} ms (longest ${Math.max(...waits).toFixed(1)})`
  return [row('wait of a send after kill -9 of the holder', median, said, OF_WAIT)]
}

/** The time from the kill until the lock file names the next process. */
async function waitedFor(lab: Lab, home: string, name: string): Promise<number> {
  const { started, lockPath } = await midTurn(lab, home, name)
  const next = lab.start(home, ['send', name, 'and now?'])
  // The next process polls the lock meanwhile. The pause varies, so that it does not align with the polling.
  await new Promise((resolve) => setTimeout(resolve, 600 + Math.random() * 50))
  const begin = performance.now()
  started.child.kill('SIGKILL')
  // A busy loop: a timer would add its own delay.
  while (holderOf(lockPath) !== next.child.pid) {
    if (performance.now() - begin > 10_000) throw new Error('no process took the lock')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0.3)
  }
  const waited = performance.now() - begin
  await Promise.all([kill(started), kill(next)])
  return waited
}

/** An agent whose turn waits for a slow model. */
async function midTurn(
  lab: Lab,
  home: string,
  name: string,
): Promise<{ started: Started; lockPath: string }> {
  const scenario = join(lab.root, 'slow.json')
  writeFileSync(scenario, JSON.stringify({ responses: [{ delay_ms: 600_000, say: 'late' }] }))
  await lab.do(home, 'spawn', '--name', name, '--option', `scenario=${scenario}`)
  const store = FileStore.openForRead(home) as FileStore
  const log = store.local.logPath(resolveAgent(store, name))
  const started = lab.start(home, ['send', name, 'hello'])
  await waitFor(() => readFileSync(log, 'utf8').includes('"model.requested"'), 'a turn')
  return { started, lockPath: join(log, '../lock') }
}

function holderOf(path: string): number | undefined {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { pid: number }).pid
  } catch {
    return undefined
  }
}

async function kill({ child, ended }: Started): Promise<void> {
  child.kill('SIGKILL')
  await ended
}
