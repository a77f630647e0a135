/** Runs `recover` and `resume` on agents in each interrupted state. Each request is done once. */
import { conversation, type HomeView } from '../support/home-view.js'
import { type Broken, nothingPending, replyIsKept, takenOnce } from '../support/promises.js'
import { EXEC, leaveAsked, stateOf, withAgent, withFamily, withScript } from './homes.js'
import { KILLED } from './killed.js'
import { leaveDeliveredAndPending, leaveOpen, type OpenRow, tear } from './left-open.js'
import { answeredByMail, effectsOf, exits } from './promises.js'
import { onlyInFiles, type Scenario } from './scenario.js'
import type { Stage } from './stage.js'

const OPEN = { B: 'exec', C: 'scripted', G: 'exec', J: 'exec' } as const
const PART = 'a part of recover'
const NO_REBOOT = 'real processes cannot restart the kernel'

export const RECOVER_ALL: Scenario[] = [
  ...onlyInFiles('a part of its home is a torn file; recover-programs has the rest', [
    recoverScenario('recover', OPEN, { torn: true }),
  ]),
  {
    ...recoverScenario('recover-programs', OPEN),
    not: { kill: PART, powercut: PART, faults: PART },
  },
  recoverScenario('recover-tools', { D: 'scripted', E: 'scripted', 'E reading': 'scripted', F: 'scripted' }),
  recoverScenario('recover-waits', { H: 'scripted', H2: 'scripted', I: 'scripted' }),
  recoveringAChild(),
  resumeScenario(),
  retryScenario(),
  recoveringAtBoot(),
  ...KILLED,
]

/** The expected end of each row. */
const ENDS: Record<OpenRow, (home: HomeView, name: string) => Broken> = {
  B: (home, name) => takenOnce(home.agent(name), `open ${name}`, 'done'),
  C: (home, name) => takenOnce(home.agent(name), `open ${name}`, `echo: open ${name}`),
  D: (home, name) => takenOnce(home.agent(name), `open ${name}`, 'all done'),
  E: (home, name) => takenOnce(home.agent(name), `open ${name}`, 'all done'),
  'E reading': (home, name) => takenOnce(home.agent(name), `open ${name}`, 'all done'),
  F: (home, name) => takenOnce(home.agent(name), `open ${name}`, 'all done'),
  G: (home, name) => takenOnce(home.agent(name), `open ${name}`, `answered: open ${name}`),
  H: (home, name) => waits(home, name),
  H2: (home, name) => takenOnce(home.agent(name), `open ${name}`, 'all done'),
  I: (home, name) => waitedInVain(home, name),
  J: (home, name) => takenOnce(home.agent(name), `open ${name}`, 'done'),
}

function nameOf(row: string): string {
  return row.replace(' ', '-')
}

async function openAgents(stage: Stage, rows: [OpenRow, 'scripted' | 'exec'][]): Promise<void> {
  for (const [row, provider] of rows) {
    const name = nameOf(row)
    // The log already has the response of the first entry.
    const script = row === 'C' ? [] : [...(row === 'H2' ? [] : [{}]), { say: 'all done' }]
    const flags = provider === 'exec' ? EXEC : stage.script(script)
    await stage.do('spawn', '--name', name, ...flags)
    await leaveOpen(stage, name, row, { content: `open ${name}` })
  }
}

interface Recovering {
  /** Next to an agent with a truncated log, and one with both kinds of mail. */
  torn?: boolean
}

function recoverScenario(
  name: string,
  open: Partial<Record<OpenRow, 'scripted' | 'exec'>>,
  { torn = false }: Recovering = {},
): Scenario {
  const rows = Object.entries(open) as [OpenRow, 'scripted' | 'exec'][]
  return {
    name,
    argv: ['recover', '--all', '--json'],
    // The first status that is not 0, in the order of ids.
    exit: 'E' in open ? 6 : 'H' in open ? [5, 6] : 0,
    programs: 'short',
    async prepare(stage) {
      await withAgent(stage)
      await openAgents(stage, rows)
      if (!torn) return undefined
      await stage.do('spawn', '--name', 'torn')
      await stage.do('send', 'torn', 'whole')
      await tear(stage, 'torn')
      await stage.do('spawn', '--name', 'mail')
      await leaveDeliveredAndPending(stage, 'mail')
      return undefined
    },
    checkAcknowledged: (told, home) => runsAsTold(told.stdout, home),
    recoverExits: 'H' in open ? [5] : [],
    next: {
      argv: ['recover', '--all'],
      check: (ended, _told, kills) => exits(ended, exitsOf(open, kills)),
    },
    // The operator must continue after a tool of unknown outcome, and row D if the kill came while its tool ran.
    afterwards: (['D', 'E'] as const)
      .filter((row) => row in open)
      .map((row) => ({ argv: ['resume', row], check: (ended) => exits(ended, 0) })),
    *finally(home) {
      for (const [row] of rows) yield* ENDS[row](home, nameOf(row))
      if ('D' in open && effectsOf(home.path).length > 1) yield 'a tool has its effect once'
      if (!torn) return
      yield* takenOnce(home.agent('torn'), 'whole', 'echo: whole')
      yield* takenOnce(home.agent('mail'), 'delivered', 'echo: delivered')
      yield* takenOnce(home.agent('mail'), 'pending', 'echo: pending')
      yield* nothingPending(home)
    },
  }
}

/** After two kills during automatic continuation, a turn is left to the operator: interrupted, resumable. */
function exitsOf(open: object, kills: number): number[] {
  return [0, ...(kills > 1 || 'E' in open || 'I' in open ? [6] : []), ...('H' in open ? [5] : [])]
}

function* runsAsTold(stdout: string, home: HomeView): Broken {
  for (const line of stdout.split('\n').filter((text) => text.endsWith('}'))) {
    const { agent, run } = JSON.parse(line) as { agent: string; run: { id: string; status: string } | null }
    const ended = home
      .agent(agent)
      ?.records.some(
        (record) => record.kind === `run.${run?.status}` && 'run_id' in record && record.run_id === run?.id,
      )
    if (run !== null && run.status !== 'open' && ended !== true)
      yield `the run ${run.id} was reported as ${run.status} and is`
  }
}

function* waits(home: HomeView, name: string): Broken {
  const { run, tokens } = home.agent(name)?.state ?? {}
  if (run?.status !== 'open' || run.wait === null)
    yield `the turn of ${name} still waits, and is not ${run?.status}`
  if (tokens?.at(-1)?.status !== 'minted') yield `the token of ${name} is valid`
}

function* waitedInVain(home: HomeView, name: string): Broken {
  const agent = home.agent(name)
  const reason = agent?.state.run?.reason
  if (reason !== 'wait_timeout') yield `the turn of ${name} was not answered in time, and ended by ${reason}`
  if (agent?.state.tokens.at(-1)?.status !== 'expired') yield `the token of ${name} has expired`
  if (agent !== undefined && conversation(agent, `open ${name}`).asked !== 1) yield `${name} was asked once`
}

/** `recover` continues a child's turn for its parent: the parent gets the reply, and no error. */
function recoveringAChild(): Scenario {
  const task = { from: 'lead', to: 'kid', content: 'task', answer: 'kid did it' }
  return {
    name: 'recover-child',
    argv: ['recover', '--all'],
    async prepare(stage) {
      await withFamily(stage, { kid: [{ say: task.answer }] })
      const from = stateOf(stage.home, 'lead').id
      await leaveOpen(stage, 'kid', 'C', { content: task.content, from })
      return undefined
    },
    checkAcknowledged: () => [],
    next: { argv: ['recover', '--all'], check: (ended) => exits(ended, [0, 6]) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* takenOnce(home.agent('kid'), task.content, task.answer)
      yield* answeredByMail(home, task)
      yield* nothingPending(home)
    },
  }
}

function resumeScenario(): Scenario {
  return {
    name: 'resume',
    argv: ['resume', 'a'],
    async prepare(stage) {
      await withAgent(stage)
      await leaveAsked(stage, 'a', 'interrupted')
      await stage.do('suspend', 'a', '--hold')
      await stage.do('send', 'a', '--if-busy', 'queue', 'queued')
      return undefined
    },
    checkAcknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'interrupted', 'echo: interrupted'),
    next: { argv: ['resume', 'a'], check: (ended) => exits(ended, 0) },
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'interrupted', 'echo: interrupted')
      yield* takenOnce(home.agent('a'), 'queued', 'echo: queued')
      yield* nothingPending(home)
    },
  }
}

/** Retries the prompt of a failed turn. If that retry completed before the kill, there is nothing left to retry. */
function retryScenario(): Scenario {
  return {
    name: 'retry',
    argv: ['retry', 'a'],
    async prepare(stage) {
      await withScript(stage, [{ fail: { type: 'crashed' }, say: 'this time' }])
      await stage.run(['send', 'a', 'hello'])
      await stage.do(...scriptedAnew(stage))
      return undefined
    },
    checkAcknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'hello', 'this time'),
    next: { argv: ['retry', 'a'], check: (ended) => exits(ended, [0, 13]) },
    finally: (home) => takenOnce(home.agent('a'), 'hello', 'this time'),
  }
}

/** The model no longer fails. */
function scriptedAnew(stage: Stage): string[] {
  return ['set', 'a', ...stage.script([{}, { say: 'this time' }])]
}

/** A home with agents in two interrupted states, after a reboot. */
function recoveringAtBoot(): Scenario {
  const argv = ['recover', '--all', '--continue', 'all']
  return {
    name: 'recover-boot',
    not: { kill: NO_REBOOT, postgres: NO_REBOOT },
    argv,
    async prepare(stage) {
      await withAgent(stage)
      await stage.do('spawn', '--parent', 'a', '--name', 'kid', '--provider', 'scripted')
      await leaveAsked(stage, 'a', 'asked')
      await stage.do('send', 'kid', '--queue', '--no-drain', 'delivered')
      // The log has the mail, and its file still exists.
      await stage.killedBefore('mail.remove', 1, ['deliver', 'kid'])
      stage.boot()
      return undefined
    },
    *checkAcknowledged({ stdout }, home) {
      if (/^a .*completed/m.test(stdout)) yield* takenOnce(home.agent('a'), 'asked', 'echo: asked')
    },
    next: {
      argv,
      // The turn of `a` was interrupted before. After two more crashes it is left to the operator.
      check: (ended, _told, crashes) => exits(ended, crashes === 2 ? [0, 6] : 0),
    },
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'asked', 'echo: asked')
      yield* takenOnce(home.agent('kid'), 'delivered', 'echo: delivered')
      yield* nothingPending(home)
    },
  }
}
