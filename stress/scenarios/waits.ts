/** Turns that park for a decision, and the decisions: each is taken once, and its token works once. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HomeView } from '../support/home-view.js'
import { type Broken, replyIsKept, takenOnce } from '../support/promises.js'
import type { ScriptedEntry } from '../turns/agent.js'
import { calls, withScript } from './homes.js'
import { effect, effectsOf, effectsOnce, exits } from './promises.js'
import type { Scenario, Told } from './scenario.js'
import type { Facts, Stage } from './stage.js'

const GO = ['send', 'a', '--key', 'k', 'go']
const ASKS: ScriptedEntry[] = [calls(['shell', { command: effect() }]), { say: 'all done' }]
const QUESTION: ScriptedEntry[] = [calls(['ask_operator', { question: 'Which?' }]), { say: 'all done' }]
const AWAITS: ScriptedEntry[] = [calls(['await_external', { what: 'the build' }]), { say: 'all done' }]
const RESULT = ['--result', 'result.txt']
/** The decisions other than an approval. */
const DECISIONS = new Map([
  [QUESTION, ['--input', 'the blue one']],
  [AWAITS, RESULT],
])
const WORKS: (home: HomeView) => Broken = (home) => effectsOnce(home, 'a')

export const WAITS: Scenario[] = [
  parkScenario('send-wait', ASKS),
  parkScenario('send-ask', QUESTION),
  parkScenario('send-await', AWAITS),
  decideScenario('resume-approve', ASKS, ['--approve'], WORKS),
  decideScenario('resume-deny', ASKS, ['--deny', '--reason', 'no'], deniedDoesNotRun),
  decideScenario('resume-input', QUESTION, ['--input', 'the blue one'], () => []),
  decideScenario('resume-result', ASKS, ['--result', 'result.txt'], deniedDoesNotRun),
  decideScenario('resume-external', AWAITS, RESULT, gotOneResult),
  decidingAtTheMachine('approve', ASKS, ['approve', 'a'], WORKS),
  decidingAtTheMachine(
    'approve-token',
    ASKS,
    ({ token }) => ['approve', 'a', token?.split('_')[1] as string],
    WORKS,
  ),
  decidingAtTheMachine('deny', ASKS, ['deny', 'a'], deniedDoesNotRun),
  decidingAtTheMachine('answer', QUESTION, ['answer', 'a', 'the blue one'], () => []),
  keyedAnswerScenario(),
  rotateScenario(),
  supersedeScenario(),
]

function park(stage: Stage, responses: ScriptedEntry[]): Promise<undefined> {
  writeFileSync(join(stage.workspace, 'result.txt'), 'got by other means')
  return withScript(stage, responses)
}

async function parkWithToken(stage: Stage, responses: ScriptedEntry[]): Promise<Facts> {
  await park(stage, responses)
  const { stdout } = await stage.run([...GO, '--json'])
  return { token: tokenIn(stdout) as string }
}

function tokenIn(stdout: string): string | undefined {
  return /st_[0-9a-f-]{36}_[\w-]{32}/.exec(stdout)?.[0]
}

function isWaiting(home: HomeView): boolean {
  const run = home.agent('a')?.state.run
  return run?.status === 'open' && run.wait !== null
}

function* deniedDoesNotRun(home: HomeView): Broken {
  if (effectsOf(home.path).length > 0) yield 'a denied call does not run'
}

function* gotOneResult(home: HomeView): Broken {
  const results = home.agent('a')?.records.filter(({ kind }) => kind === 'tool.finished') ?? []
  if (results.length > 1) yield `the call has one result, not ${results.length}`
}

/** A printed token continues the turn. If none was printed, the operator at the machine needs none. */
function parkScenario(name: string, responses: ScriptedEntry[]): Scenario {
  const needsNoApproval = responses !== ASKS
  const decision = DECISIONS.get(responses) ?? ['--approve']
  return {
    name,
    argv: [...GO, '--json'],
    exit: 5,
    programs: 'short',
    prepare: (stage) => park(stage, responses),
    recoverExits: [5],
    *checkAcknowledged(told, home) {
      const token = tokenIn(told.stdout)
      if (token === undefined) return
      if (told.isLater !== true && !isWaiting(home)) yield 'a turn reported as waiting does'
      if (home.agent('a')?.state.tokens.some(({ token_id }) => token.includes(token_id)) !== true)
        yield 'a printed token is on disk'
    },
    next: { argv: GO, check: (ended) => exits(ended, 5) },
    afterwards: [
      {
        argv: (_facts, told) => {
          const token = tokenIn(told?.stdout ?? '')
          if (token !== undefined) return ['resume', 'a', '--token', token, ...decision]
          return needsNoApproval ? ['deny', 'a'] : ['approve', 'a']
        },
        check: (ended) => exits(ended, 0, 'all done\n'),
      },
    ],
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'go', 'all done')
      yield* consumedOnce(home)
      if (!needsNoApproval) yield* effectsOnce(home, 'a')
    },
  }
}

/** The same decision again, with the same token, gets the same outcome. */
function decideScenario(
  name: string,
  responses: ScriptedEntry[],
  decision: string[],
  always: (home: HomeView) => Broken,
): Scenario {
  const argv: Scenario['argv'] = ({ token }) => ['resume', 'a', '--token', token as string, ...decision]
  return {
    name,
    argv,
    programs: 'short',
    recoverExits: [5],
    prepare: (stage) => parkWithToken(stage, responses),
    checkAcknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'go', 'all done'),
    next: { argv, check: (ended) => exits(ended, 0, 'all done\n') },
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'go', 'all done')
      yield* consumedOnce(home)
      yield* always(home)
    },
  }
}

/**
 * Decisions of the operator at the machine. If the decision was recorded before the kill, there is none left to take.
 */
function decidingAtTheMachine(
  name: string,
  responses: ScriptedEntry[],
  argv: Scenario['argv'],
  always: (home: HomeView) => Broken,
): Scenario {
  return {
    name,
    argv,
    programs: 'short',
    recoverExits: [5],
    prepare: (stage) => parkWithToken(stage, responses),
    *checkAcknowledged(told, home) {
      yield* replyIsKept(told, home.agent('a'), 'go', 'all done')
      if (/approved|denied|answered/.test(told.stderr)) yield* consumedOnce(home)
    },
    next: { argv, check: (ended) => exits(ended, [0, 13]) },
    afterwards: [{ argv: ['resume', 'a'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'go', 'all done')
      yield* consumedOnce(home)
      yield* always(home)
    },
  }
}

/** An answer with a key, repeated after a kill at any step, has one outcome. */
function keyedAnswerScenario(): Scenario {
  const argv = ['answer', 'a', '--key', 'colour', 'the blue one']
  return {
    name: 'answer-key',
    argv,
    programs: 'short',
    recoverExits: [5],
    prepare: (stage) => parkWithToken(stage, QUESTION),
    *checkAcknowledged(told, home) {
      yield* replyIsKept(told, home.agent('a'), 'go', 'all done')
      if (told.stderr.includes('answered')) yield* consumedOnce(home)
    },
    next: { argv, check: (ended) => exits(ended, 0, 'all done\n') },
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'go', 'all done')
      yield* consumedOnce(home)
    },
  }
}

function rotateScenario(): Scenario {
  const token = (told?: Told): string | undefined => tokenIn(told?.stdout ?? '')
  return {
    name: 'token-rotate',
    argv: ['token', 'rotate', 'a'],
    programs: 'short',
    recoverExits: [5],
    prepare: (stage) => parkWithToken(stage, ASKS),
    *checkAcknowledged(told, home) {
      const id = token(told)?.slice(3, 39)
      if (id === undefined) return
      if (home.agent('a')?.state.tokens.some(({ token_id }) => token_id === id) !== true)
        yield 'a printed token is on disk'
      if (told.isLater === true) return
      const wait = home.agent('a')?.state.run?.wait
      if (wait == null || wait.resume_token_id !== id) yield `the turn waits for the printed token ${id}`
    },
    next: { argv: ['show', 'a'], check: (ended) => exits(ended, 0) },
    afterwards: [
      {
        // The token printed last is valid: the new one. If the command died before it printed one, the one in the log
        // is valid.
        argv: (_facts, told) =>
          token(told) === undefined
            ? ['approve', 'a']
            : ['resume', 'a', '--token', token(told) as string, '--approve'],
        check: (ended) => exits(ended, 0, 'all done\n'),
      },
    ],
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'go', 'all done')
      yield* consumedOnce(home)
      yield* effectsOnce(home, 'a')
    },
  }
}

/** The operator's next message replaces the wait and revokes its token. */
function supersedeScenario(): Scenario {
  const argv = ['send', 'a', '--key', 'other', '--if-waiting', 'supersede', 'instead']
  return {
    name: 'send-supersede',
    argv,
    recoverExits: [5],
    prepare: (stage) => parkWithToken(stage, ASKS),
    checkAcknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'instead', 'all done'),
    next: { argv, check: (ended) => exits(ended, 0, 'all done\n') },
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'instead', 'all done')
      yield* deniedDoesNotRun(home)
      const { records = [], state } = home.agent('a') ?? {}
      if (records.filter(({ kind }) => kind === 'run.cancelled').length !== 1)
        yield 'the superseded turn has ended once'
      if (state?.tokens.some(({ status }) => status !== 'revoked')) yield 'its token is revoked'
    },
  }
}

function* consumedOnce(home: HomeView): Broken {
  const consumed = home.agent('a')?.records.filter(({ kind }) => kind === 'token.consumed') ?? []
  if (consumed.length !== 1) yield `one token is consumed, not ${consumed.length}`
}
