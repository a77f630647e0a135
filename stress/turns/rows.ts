/**
 * Every row of the recovery table, from a real process that SIGKILL ends at that point, with the log before and after
 * the next command. Generates test/stress/recovery-rows.md.
 */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RECOVERY_TABLE, type Row } from '../../src/recovery/table.js'
import { processesWith } from '../../test/support/processes.js'
import { waitFor } from '../../test/support/wait.js'
import type { Ended, Lab } from '../support/lab.js'
import { Agent } from './agent.js'
import { logText, steady } from './log-text.js'

export interface RowReport {
  row: Row | 'K'
  /** The point of the kill. */
  killed: string
  before: string
  /** The next commands, with their exit statuses and output. */
  commands: string
  after: string
  /** The row that recovery reported, if it did. */
  found: string | undefined
}

interface Killing {
  row: Row | 'K'
  killed: string
  /** Leaves the agent as the killed process left it. */
  make(lab: Lab): Promise<Agent>
  /** The next commands; by default `recover --all`. */
  next?: string[][]
}

const HANGS = ': > "$SUBSTRAT_LOG.begun"; sleep 600'
const SHELL = { tools: [{ name: 'shell', input: { command: HANGS } }] }
const READ = { tools: [{ name: 'read_file', input: { path: 'missing.txt' } }] }
const SLOW = { delay_ms: 600_000 }
const DONE = { say: 'done' }

const KILLINGS: Killing[] = [
  {
    row: 'A',
    killed: '`send` when the end of its turn was written, before it was synced',
    async make(lab) {
      const agent = await Agent.spawn(lab, [DONE])
      await agent.runKilledAfter(2, 'send', 'a', 'go')
      return agent
    },
  },
  {
    row: 'B',
    killed: '`send` to an agent program, before the record of its process group was written',
    async make(lab) {
      const agent = await Agent.spawnProgram(lab, 'cat; echo')
      await agent.runKilledBefore(2, 'send', 'a', 'go')
      return agent
    },
  },
  {
    row: 'C',
    killed: '`send` in mid-inference',
    async make(lab) {
      const agent = await Agent.spawn(lab, [SLOW])
      await agent.runKilledWhen(() => agent.waitForRecord('model.requested'), 'send', 'a', 'go')
      agent.rewrite([DONE])
      return agent
    },
  },
  {
    row: 'D',
    killed: '`send` when the response with its call was stored, before the record of the tool was written',
    async make(lab) {
      const tool = { tools: [{ name: 'shell', input: { command: 'echo ran' } }] }
      const agent = await Agent.spawn(lab, [tool, DONE], ['--allow', 'shell'])
      await agent.runKilledBefore(3, 'send', 'a', 'go')
      return agent
    },
  },
  {
    row: 'E',
    killed: '`send` while a shell command ran; `unknown_tool` is `stop`',
    make: (lab) => inTool(lab, [SHELL, DONE]),
    next: [
      ['recover', '--all'],
      ['recover', '--all'],
      ['resume', 'a'],
    ],
  },
  {
    row: 'E',
    killed: '`send` while a shell command ran; `unknown_tool` is `continue`',
    make: (lab) => inTool(lab, [SHELL, DONE], { SUBSTRAT_RECOVERY_UNKNOWN_TOOL: 'continue' }),
  },
  {
    row: 'E',
    killed: '`send` while a tool ran that only reads, before its result was written',
    async make(lab) {
      const agent = await Agent.spawn(lab, [READ, DONE])
      await agent.runKilledBefore(3, 'send', 'a', 'go')
      return agent
    },
  },
  {
    row: 'F',
    killed:
      '`send` while a shell command ran, and then the recovery of that, when it had recorded the result',
    async make(lab) {
      const agent = await inTool(lab, [SHELL, DONE], { SUBSTRAT_RECOVERY_UNKNOWN_TOOL: 'continue' })
      await agent.runKilledBefore(3, 'recover', '--all')
      return agent
    },
  },
  {
    row: 'G',
    killed: '`send` when the reply of an agent program was stored, before the end of its run was',
    async make(lab) {
      const agent = await Agent.spawnProgram(lab, 'cat; echo')
      await agent.runKilledBefore(4, 'send', 'a', 'go')
      return agent
    },
  },
  {
    row: 'H',
    killed: '`send` when the record that parks its turn was written, before its token was told to anybody',
    async make(lab) {
      const tool = { tools: [{ name: 'shell', input: { command: 'echo ran' } }] }
      const agent = await Agent.spawn(lab, [tool, DONE])
      await agent.runKilledAfter(3, 'send', 'a', 'go')
      return agent
    },
    next: [
      ['recover', '--all'],
      ['approve', 'a'],
    ],
  },
  {
    row: 'H2',
    killed: '`send` when its turn was put off by a rate limit',
    async make(lab) {
      const agent = await Agent.spawn(
        lab,
        [{ ...DONE, fail: { type: 'rate_limit', retry_after_ms: 4000 } }],
        [],
        { SUBSTRAT_RETRY_DELAYS: 'none' },
      )
      await agent.runKilledAfter(2, 'send', 'a', 'go')
      return agent
    },
    next: [['resume', 'a'], ['WAIT'], ['recover', '--all']],
  },
  {
    row: 'I',
    killed: '`send` when its turn was parked, with a token that is good for a millisecond',
    async make(lab) {
      const tool = { tools: [{ name: 'shell', input: { command: 'echo ran' } }] }
      const agent = await Agent.spawn(lab, [tool, DONE], [], { SUBSTRAT_TOKEN_LIFETIME: '1ms' })
      await agent.runKilledAfter(3, 'send', 'a', 'go')
      return agent
    },
    next: [
      ['recover', '--all'],
      ['recover', '--all'],
      ['resume', 'a'],
    ],
  },
  {
    row: 'J',
    killed: '`send` while an agent program ran',
    async make(lab) {
      const agent = await Agent.spawnProgram(
        lab,
        '[ -e "$SUBSTRAT_LOG.begun" ] || { : > "$SUBSTRAT_LOG.begun"; sleep 600; }; cat',
      )
      await agent.runKilledWhen(() => hasBegun(agent), 'send', 'a', 'go')
      return agent
    },
  },
  {
    row: 'K',
    killed: '`resume` in the turn of a queued message, before that was taken out of the inbox',
    async make(lab) {
      const agent = await Agent.spawn(lab, [SLOW])
      await agent.run('suspend', 'a', '--hold')
      await agent.run('send', 'a', 'queued', '--if-busy', 'queue')
      await agent.runKilledWhen(() => agent.waitForRecord('mail.delivered'), 'resume', 'a')
      agent.rewrite([DONE])
      return agent
    },
  },
]

export async function killedRows(lab: Lab): Promise<RowReport[]> {
  const reports: RowReport[] = []
  for (const { row, killed, make, next = [['recover', '--all']] } of KILLINGS) {
    const agent = await make(lab)
    // The leash ends them. Otherwise recovery might or might not find them running.
    await waitFor(() => processesWith(`SUBSTRAT_HOME=${agent.home}`).length === 0, 'the end of its programs')
    const count = agent.records().length
    const before = withInbox(agent, logText(agent.records()))
    const told: string[] = []
    let found: string | undefined
    for (const argv of next) {
      if (argv[0] === 'WAIT') await isDue(agent)
      else {
        const ended = await agent.run(...argv)
        found ??= /\[(\w+): /.exec(ended.stdout)?.[1]
        told.push(transcript(argv, ended))
      }
    }
    const after = withInbox(agent, logText(agent.records().slice(count)))
    reports.push({ row, killed, before, commands: told.join('\n'), after, found })
  }
  return reports
}

async function inTool(lab: Lab, responses: object[], env: Record<string, string> = {}): Promise<Agent> {
  const agent = await Agent.spawn(lab, responses, ['--allow', 'shell'], env)
  await agent.runKilledWhen(() => hasBegun(agent), 'send', 'a', 'go')
  return agent
}

/** The program, behind its start barrier. */
function hasBegun(agent: Agent): Promise<void> {
  return waitFor(() => existsSync(`${agent.logPath}.begun`), 'the program of the turn')
}

function isDue(agent: Agent): Promise<void> {
  const wait = agent.records().find(({ kind }) => kind === 'run.waiting')
  const at = wait?.kind === 'run.waiting' ? Date.parse(wait.not_before ?? '') : 0
  return waitFor(() => Date.now() > at, 'the time of the wait')
}

function transcript(argv: string[], { code, stdout, stderr }: Ended): string {
  const lines = [`$ substrat ${argv.join(' ')}`, ...`${stdout}${stderr}`.trim().split('\n'), `[exit ${code}]`]
  return steady(lines.filter((line) => line !== '').join('\n'))
}

function withInbox(agent: Agent, text: string): string {
  const count = readdirSync(join(dirname(agent.logPath), 'inbox')).length
  return count === 0 ? text : `${text}\n(and ${count} message in the inbox)`
}

/** The text of test/stress/recovery-rows.md. */
export function rowsPage(reports: RowReport[]): string {
  const sections = reports.map(({ row, killed, before, commands, after }) => {
    const found =
      row === 'K' ? 'mail delivered in the log, file still in the inbox' : RECOVERY_TABLE[row].found
    return [
      `## ${row}: ${found}`,
      `Killed with SIGKILL: ${killed}.`,
      `The log before:\n\n\`\`\`text\n${before}\n\`\`\``,
      `What came next:\n\n\`\`\`console\n${commands}\n\`\`\``,
      `What was added to the log:\n\n\`\`\`text\n${after || '(nothing)'}\n\`\`\``,
    ].join('\n\n')
  })
  return `${[HEAD, ...sections].join('\n\n')}\n`
}

const HEAD = `# Every row of the recovery table, from real processes

\`npm run stress:turns -- --only rows --page test/stress/recovery-rows.md\` writes this page. For each row, SIGKILL ends a process of substrat at that point, and the next command runs. Placeholders stand for ids and times.`
