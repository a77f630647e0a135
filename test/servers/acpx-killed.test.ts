/**
 * acpx, its queue owner, `substrat acp` and the turns are killed at random, together and one side at a time.
 *
 * The oracle is the agent's log: each message is in it at most once, each one that acpx showed as answered exactly once, and each
 * has one turn with its own reply. acpx gives its prompts no id, so a prompt that was killed may or may not have arrived. It may
 * also arrive after a later one: the command that sends it outlives its server.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Editor } from '../acp/support.js'
import { House } from '../support/cli.js'
import { KillRun } from '../support/kill-run.js'
import { processesWith } from '../support/processes.js'
import { waitFor } from '../support/wait.js'
import { Acpx, conversation, SIDES, type Side, User } from './acpx-user.js'

const run = new KillRun('acpx', 4)
const { random } = run
const acpx = new Acpx()
/** In this part of the prompts, acpx gives no answer to a request for permission. */
const UNANSWERED = 0.4
/** Half of the kills come within this time after the start of a prompt, the others at one of the records of its turn. */
const KILLED_WITHIN_MS = 4000
const RECORDS_OF_TURN = 14
/** More than are sent. */
const TURNS = run.kills * 6 + 10

beforeAll(() => acpx.install())
afterAll(() => acpx.remove())

/** Everything, or at least one of the three sides. */
function drawSides(): readonly Side[] {
  if (random.chance(0.4)) return SIDES
  const drawn = SIDES.filter(() => random.chance(0.5))
  return drawn.length > 0 ? drawn : [random.pick([...SIDES])]
}

function replyOf(turn: number): string {
  return `Done ${turn}.`
}

test.skipIf(process.platform !== 'linux')(
  'no message and no reply is lost or doubled while acpx and substrat are killed, and an approval asked for before a kill is answered after it',
  { timeout: run.timeoutMs },
  async () => {
    run.begin()
    const house = new House()
    const user = new User(house, acpx)
    const call = { name: 'shell', input: { command: 'true' } }
    const responses = Array.from({ length: TURNS }, (_, turn) => [
      { delay_ms: 30, say: `Let me ${turn}.`, tools: [call] },
      { delay_ms: 30, say: replyOf(turn) },
    ])
    house.scenario('s.json', ...responses.flat())
    await house.ok('config', 'set', 'scripted.scenario', `${house.workspace}/s.json`)
    const id = (await user.ok([], 'sessions', 'new')).trim()

    const killed = { client: 0, server: 0, turn: 0 }
    const counts = { kills: 0, with_open_approval: 0 }
    const kill = async (): Promise<void> => {
      const [{ status }] = (await house.ok('list', '--json')).json.agents
      const found = user.kill(drawSides())
      if (Object.values(found).every((processes) => processes === 0)) return
      for (const side of SIDES) killed[side] += found[side]
      counts.kills += 1
      if (status === 'waiting') counts.with_open_approval += 1
    }

    const momentOfKill = async (isOver: () => boolean): Promise<void> => {
      const end = performance.now() + random.between(0, KILLED_WITHIN_MS)
      const records = house.records(id).length + 1 + random.below(RECORDS_OF_TURN)
      const isNow = random.chance(0.5)
        ? () => performance.now() > end
        : () => house.records(id).length >= records
      await waitFor(() => isNow() || isOver(), 'the moment of the kill')
    }

    /** The output of acpx for each message that it showed as answered. */
    const answered = new Map<string, string>()
    const prompt = async (message: string): Promise<void> => {
      const isAnswering = !random.chance(UNANSWERED)
      const flags = isAnswering ? ['--approve-all'] : ['--non-interactive-permissions', 'fail']
      const running = user.start(flags, message)
      let isOver = false
      void running.then(() => {
        isOver = true
      })
      await momentOfKill(() => isOver)
      await kill()
      const { exitCode, stdout, stderr } = await running
      if (exitCode === 0 && isAnswering) answered.set(message, String(stdout))
      // After three kills without progress, only a person continues a turn.
      if (String(stderr).includes('the turn was interrupted')) await house.run(['resume', id])
    }

    const messages: string[] = []
    while (counts.kills < run.kills) {
      messages.push(`message ${messages.length}`)
      await prompt(messages.at(-1) as string)
    }
    user.killAll()
    messages.push('the last message')
    answered.set('the last message', await user.ok(['--approve-all', '--ttl', '1'], 'the last message'))
    user.killAll()
    await house.ok('recover', '--all')

    const said = await conversation(house)
    const delivered = said.flatMap((text) => (text.startsWith('user: ') ? [text.slice('user: '.length)] : []))
    expect(delivered).toHaveLength(new Set(delivered).size)
    expect(delivered.filter((message) => !messages.includes(message))).toEqual([])
    expect(delivered.filter((message) => answered.has(message))).toEqual([...answered.keys()])
    expect(said).toEqual(
      delivered.flatMap((message, turn) => [
        `user: ${message}`,
        `agent: Let me ${turn}.`,
        `agent: ${replyOf(turn)}`,
      ]),
    )
    for (const [message, shown] of answered) expect(shown).toContain(replyOf(delivered.indexOf(message)))
    expect(house.count(id, 'run.completed')).toBe(delivered.length)
    expect(house.inbox(id)).toEqual([])
    expect(house.findings(true)).toEqual([])

    const editor = await Editor.open(house)
    await editor.load(id, house.workspace)
    expect(editor.said).toEqual(said)
    await editor.close()
    await waitFor(() => processesWith(`SUBSTRAT_HOME=${house.home}`).length === 0, 'the end of all')
    const { kills, with_open_approval } = counts
    run.report({
      kills,
      client: killed.client,
      server: killed.server,
      turn: killed.turn,
      with_open_approval,
      messages: messages.length,
      delivered: delivered.length,
      answered: answered.size,
    })
  },
)
