/** The steps of a selftest with real commands in a temporary home. */
import { join } from 'node:path'
import { auditHome } from '../../audit/audit.js'
import { INVARIANTS } from '../../audit/invariants.js'
import { clock, sleep } from '../../clock.js'
import { SubstratError } from '../../errors.js'
import { isThere, readUserFile, writeUserFile } from '../../files/user-files.js'
import { processState } from '../../host/identity.js'
import { send } from '../../provider/process-group.js'
import { startBehindBarrier } from '../../provider/start-barrier.js'
import { randomUuid } from '../../start/random.js'
import type { Store } from '../../storage/store.js'
import type { Cli } from './cli.js'
import { type KillWorld, promptOf, replyOf } from './kill-checks.js'
import type { LockWorld } from './lock-checks.js'
import type { ProgramWorld } from './program-checks.js'

/** The time that a busy machine needs for a command or the death of a process. */
const PATIENCE_MS = 20_000

/** The commands that the checks kill. If the selftest itself is killed, they end by this limit. */
const BOUNDED = ['--turn-timeout', '90s', '--timeout', '20s']

export interface Scene {
  store: Store
  cli: Cli
  workspace: string
}

async function isTrueSoon(condition: () => boolean): Promise<boolean> {
  for (const end = clock.monotonic() + PATIENCE_MS; ; await sleep(10)) {
    if (condition()) return true
    if (clock.monotonic() > end) return false
  }
}

/** Returns the id of the agent. */
async function spawnAgent(
  { cli }: Scene,
  name: string,
  provider: string,
  options: string[],
): Promise<string> {
  const { exit, stdout, stderr } = await cli.run([
    'spawn',
    '--name',
    name,
    '--provider',
    provider,
    ...options,
  ])
  if (exit === 0) return stdout.trim()
  // The line of that command, whose hint is for this user too.
  const [, message = stderr, hint] =
    /^substrat: (.*?)(?: \(([^()]*(?:\([^()]*\)[^()]*)*)\))?$/m.exec(stderr) ?? []
  throw new SubstratError('HOME_UNUSABLE', message.trim(), hint === undefined ? {} : { hint })
}

function scripted({ workspace }: Scene, name: string, responses: object[]): string[] {
  writeUserFile(join(workspace, `${name}.json`), JSON.stringify({ responses }))
  return ['--option', `scenario=${name}.json`]
}

/** Throws if no agent can be made, for example because the file system has no locks. */
export async function lockWorld(scene: Scene): Promise<LockWorld> {
  const { store, cli } = scene
  const options = scripted(scene, 'held', [{ after_file: 'go' }])
  const agentId = await spawnAgent(scene, 'held', 'scripted', options)
  const take = { command: 'substrat selftest', waitMs: 0 }
  return {
    hasDirectories: !store.upkeep.isLocal,
    async startHolder() {
      const running = cli.start(['send', 'held', 'hello', ...BOUNDED])
      if (!(await isTrueSoon(() => store.isHeld(agentId)))) return undefined
      return {
        async kill() {
          running.kill()
          await running.ended
          // Recovery ends that turn later.
          writeUserFile(join(scene.workspace, 'go'), '')
        },
      }
    },
    take: () => store.hold(agentId, take),
    async takeElsewhere() {
      // A command that takes an agent and runs no turn.
      const { exit } = await cli.run(['set', 'held', '--title', 'taken', '--timeout', '0s'])
      return exit === 4 ? 'busy' : 'taken'
    },
    unlock: () => unlock(scene),
  }
}

async function unlock({ store, cli }: Scene): Promise<void> {
  // By force: a lock whose holder has just died looks like that of another host.
  if (!store.upkeep.isLocal) await cli.run(['unlock', '--all', '--force'])
}

/** The program looks for the record of its start, then writes its pid and runs on. Recovery starts it again, which ends the turn. */
const PROGRAM = `[ ! -e pid ] || exit 0; grep -c '"provider.started"' "$SUBSTRAT_LOG" >seen; echo $$ >pid.new; mv pid.new pid; exec sleep 86400`

export async function programWorld(scene: Scene): Promise<ProgramWorld> {
  const { cli, workspace } = scene
  await spawnAgent(scene, 'program', 'exec', ['--option', `command=${PROGRAM}`])
  const textOf = (name: string): string => readUserFile(join(workspace, name)).trim()
  return {
    async startProgram() {
      const running = cli.start(['send', 'program', 'go', ...BOUNDED])
      if (!(await isTrueSoon(() => isThere(join(workspace, 'pid'))))) return undefined
      return {
        sawItsRecord: textOf('seen') !== '0',
        async killSubstrat() {
          running.kill()
          await running.ended
        },
      }
    },
    async startUnrecorded() {
      const noRecord = new Error('the record failed')
      await startBehindBarrier(
        { argv: ['/bin/sh', '-c', 'echo >unrecorded'], cwd: workspace },
        {
          environment: {},
          tag: { variable: 'SUBSTRAT_LAUNCH', value: randomUuid() },
          output: 'pipe',
          deadline: undefined,
        },
        { signal: new AbortController().signal },
        () => {
          throw noRecord
        },
      ).catch((error: unknown) => {
        if (error !== noRecord) throw error
      })
      return isThere(join(workspace, 'unrecorded'))
    },
    hasEnded() {
      const pid = Number(textOf('pid'))
      // A container without an init process never removes the dead program.
      return isTrueSoon(() => !send(pid, 0) || processState(pid) === 'Z')
    },
  }
}

export async function killWorld(scene: Scene, turns: number): Promise<KillWorld> {
  const { store, cli, workspace } = scene
  const responses = Array.from({ length: turns }, (_, index) => [
    { tools: [{ name: 'shell', input: { command: `echo ${index + 1} >>effects` } }] },
    { say: replyOf(index + 1) },
  ]).flat()
  await spawnAgent(scene, 'sends', 'scripted', [...scripted(scene, 'sends', responses), '--allow', 'shell'])
  return {
    async send(n, killAfterMs) {
      const words = ['send', 'sends', promptOf(n), '--key', String(n), ...BOUNDED]
      // A kill during the tool leaves its outcome unknown. Its effect is counted, so no person need look.
      const running = cli.start([...words, '--if-unknown', 'continue'])
      const timer = killAfterMs === undefined ? undefined : setTimeout(running.kill, killAfterMs)
      const ended = await running.ended
      clearTimeout(timer)
      return ended
    },
    unlock: () => unlock(scene),
    recover: () => cli.run(['recover', '--all']),
    async traces() {
      const { stdout } = await cli.run(['log', 'sends', '--all', '--json'])
      const records: { kind: string; content?: string }[] = stdout
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
      const contents = (kind: string): string[] =>
        records.flatMap((record) => (record.kind === kind ? (record.content ?? '') : []))
      return {
        prompts: contents('message.user'),
        replies: contents('message.agent'),
        effects: readUserFile(join(workspace, 'effects')).trim().split('\n'),
        interrupted: records.filter(({ kind }) => kind === 'run.resumed').length,
      }
    },
    async audit() {
      const { findings } = await auditHome(store, true)
      return findings
        .filter(({ invariant }) => INVARIANTS[invariant].left !== 'ever after')
        .map(({ invariant, detail }) => `${invariant}: ${detail}`)
    },
  }
}
