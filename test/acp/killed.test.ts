/**
 * Editors prompt an agent while `substrat acp` and the turn itself are killed at random.
 *
 * The oracle is the agent's log: each message that an editor sent is in it once, each with one reply.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { KillRun } from '../support/kill-run.js'
import { killIfAlive } from '../support/processes.js'
import { waitFor } from '../support/wait.js'
import { Editor } from './support.js'

const run = new KillRun('editor', 4)
const { random } = run
/** The part of the kills that also hits the process of the turn. */
const TURN_KILLED = 0.3
/** A turn has fewer. */
const RECORDS_OF_A_TURN = 16

test('no message and no reply is lost or doubled, and an approval asked for before a kill is answered after it', {
  timeout: run.timeoutMs,
}, async () => {
  run.begin()
  const house = new House()
  // More than are sent: a prompt without a kill takes a second.
  const turns = run.kills * 8
  const call = { name: 'shell', input: { command: 'true' } }
  const responses = Array.from({ length: turns }, (_, turn) => [
    { delay_ms: 30, say: `Let me ${turn}.`, tools: [call] },
    { delay_ms: 30, say: `Done ${turn}.` },
  ])
  const scenario = house.scenario('many.json', ...responses.flat())
  let editor = await Editor.open(house, '--option', scenario)
  const id = await editor.create(house.workspace)
  const killed = { face: 0, turn: 0, asked: 0 }

  const kill = async (): Promise<void> => {
    if (editor.asked.length > 0 && editor.answer === 'never') killed.asked += 1
    await editor.kill()
    killed.face += 1
    const { holder } = (await house.ok('show', id, '--json')).json
    if (holder !== null && random.chance(TURN_KILLED)) {
      killIfAlive(holder.pid)
      killed.turn += 1
    }
    editor = await Editor.open(house)
    editor.answer = killed.face < run.kills && random.chance(0.3) ? 'never' : 'once'
    await editor.load(id, house.workspace)
  }

  /** A random moment of the turn, by its records: on a slow machine, most times would be over before it begins. */
  const moment = async (over: Promise<unknown>): Promise<void> => {
    let isOver = false
    void over.then(() => {
      isOver = true
    })
    const wanted = house.records(id).length + random.between(0, RECORDS_OF_A_TURN)
    const isAsked = (): boolean => editor.answer === 'never' && editor.asked.length > 0
    await waitFor(() => isOver || isAsked() || house.records(id).length >= wanted, 'a moment for the kill')
    await sleep(random.between(0, 50))
  }

  /** Whether the message is answered. */
  const prompt = async (text: string, messageId: string): Promise<boolean> => {
    const over = editor.prompt(id, text, messageId).then(
      () => 'answered',
      (error: { data?: { code?: string } }) => error.data?.code ?? 'closed',
    )
    const isKilled = killed.face < run.kills
    const end = await Promise.race(isKilled ? [over, moment(over)] : [over])
    // After three kills without progress, only a person continues a turn.
    if (end === 'INTERRUPTED') await house.run(['resume', id])
    else if (end !== 'answered' && isKilled) await kill()
    return end === 'answered'
  }

  let sent = 0
  for (; killed.face < run.kills; sent += 1) {
    while (!(await prompt(`message ${sent}`, `m${sent}`)));
  }
  await waitFor(
    async () => (await house.ok('show', id, '--json')).json.agent.status === 'idle',
    'the last turn',
  )

  const records = house.records(id)
  const asked = records.flatMap((record) =>
    record.kind === 'mail.delivered' || (record.kind === 'message.user' && record.origin === 'operator')
      ? [record.content]
      : [],
  )
  const replies = records.flatMap((record) => (record.kind === 'message.agent' ? [record.content] : []))
  const numbers = Array.from({ length: sent }, (_, turn) => turn)
  expect(asked).toEqual(numbers.map((turn) => `message ${turn}`))
  expect(replies).toEqual(numbers.flatMap((turn) => [`Let me ${turn}.`, `Done ${turn}.`]))
  expect(records.filter(({ kind }) => kind === 'run.completed')).toHaveLength(sent)
  expect(house.findings(true)).toEqual([])

  const last = await Editor.open(house)
  await last.load(id, house.workspace)
  expect(last.said).toEqual(
    numbers.flatMap((turn) => [`user: message ${turn}`, `agent: Let me ${turn}.`, `agent: Done ${turn}.`]),
  )
  await last.close()
  await editor.close()
  run.report({
    servers: killed.face,
    turns: killed.turn,
    with_open_approval: killed.asked,
    messages: sent,
  })
})
