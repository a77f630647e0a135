/** How histories begin. The agent `a` writes each prompt to the file `work`. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Right } from '../../src/storage/store.js'
import type { House } from '../../test/support/cli.js'
import type { NativeHouse } from '../../test/support/native.js'
import { MARKS } from '../../test/support/parked.js'
import { storeAt } from '../../test/support/postgres-homes.js'
import { waitFor } from '../../test/support/wait.js'
import { wordsOf } from './advice.js'
import type { History } from './walk.js'

const WORK = 'cat >> work; echo >> work; echo done'
export const WORKS = exec(WORK)

export const NOTHING = (): undefined => undefined

export const removeFrom = (directory: string, name: string): void =>
  rmSync(join(directory, name), { recursive: true })

function exec(command: string): string[] {
  return ['--provider', 'exec', '--option', `command=${command}`]
}

export const worker = (house: House, ...flags: string[]): Promise<string> =>
  house.spawn('a', ...WORKS, ...flags)

/** After its first turn. */
export async function veteran(house: House): Promise<string> {
  const id = await worker(house)
  await house.ok('send', 'a', 'earlier')
  return id
}

/** Each turn of `a` makes the file `begun`, and works once there is a file `go`. */
export const patient = (house: House, ...flags: string[]): Promise<string> =>
  house.spawn('a', ...exec(`: > begun; until [ -e go ]; do sleep 0.05; done; ${WORK}`), ...flags)

/** The first turns of `a` kill the process of their command, which must be one. Then it is patient. */
export function deadly(house: House, count: number): Promise<string> {
  const kill = ': > dead.$n; kill -9 $PPID; sleep 3600'
  const first = `n=$(ls | grep -c dead); if [ $n -lt ${count} ]; then ${kill}; fi`
  return house.spawn('a', ...exec(`${first}; : > begun; until [ -e go ]; do sleep 0.05; done; ${WORK}`))
}

/** A call of the only turn of `a` killed the process of the turn. */
export async function cutShort(house: House): Promise<void> {
  const tools = [{ name: 'shell', input: { command: 'kill -9 $PPID; sleep 3600' } }]
  const scenario = house.scenario('s.json', { tools }, { say: 'finished' })
  await house.spawn('a', '--option', scenario, '--allow', 'shell')
  await house.start(['send', 'a', 'go']).result
}

/** The first turn of `a` does not end. */
export const slow = (house: House): Promise<string> =>
  house.spawn('a', ...exec(`if mkdir once; then : > begun; sleep 3600; fi; ${WORK}`))

const turns = new WeakMap<House, Promise<unknown>>()

export const begun = (house: House): Promise<void> =>
  waitFor(() => house.read('begun') !== undefined, 'the turn')

/** Another command runs a turn of `a`. */
export async function busy(house: House): Promise<void> {
  await patient(house)
  await begin(house, 'send', 'a', 'first')
}

export async function begin(house: House, ...args: string[]): Promise<void> {
  turns.set(house, house.run(args))
  await begun(house)
}

/** The other command ends. */
export async function release(house: House): Promise<void> {
  house.write('go', '')
  await turns.get(house)
}

const rights = new WeakMap<House, Right>()

/** Another command does the work of which a home allows one at a time. */
export const taking =
  (pool: string) =>
  async (house: House): Promise<void> => {
    rights.set(house, (await storeAt(house.home).takeSlot(pool, 1, 'substrat test')) as Right)
  }

export const takingNames = async (house: House): Promise<void> => {
  rights.set(house, await storeAt(house.home).names(null).lock('substrat test'))
}

export const givingBack = (house: House): Promise<void> | undefined => rights.get(house)?.release()

/** A person has stopped the turn of `a`. */
export async function interrupted(house: House, ...flags: string[]): Promise<void> {
  await busy(house)
  await house.ok('suspend', 'a', ...flags)
  await turns.get(house)
  removeFrom(house.workspace, 'begun')
}

/** `a` is parked by a call of shell. */
export async function waiting(house: House, tools: object[] = [MARKS]): Promise<void> {
  await house.spawn('a', '--option', house.scenario('s.json', { tools }, { say: 'finished' }))
  await house.run(['send', 'a', 'go'])
}

export const asking = (house: House): Promise<void> =>
  waiting(house, [{ name: 'ask_operator', input: { question: 'Which colour?' } }])

/** The agent program of `a` waits for approval. */
export async function inProgram(house: House): Promise<void> {
  const asks = [{ call_id: 'n1', tool: 'Bash', input: {} }]
  ;(house as NativeHouse).turns([{ type: 'wait', kind: 'approval', asks }], [{ type: 'done', reply: 'ok' }])
  await house.spawn('a', '--provider', 'native')
  await house.run(['send', 'a', 'go'])
}

/** The next turn of `a` will wait. */
export function ready(house: House): Promise<string> {
  return house.spawn('a', '--option', house.scenario('s.json', { tools: [MARKS] }, { say: 'finished' }))
}

/** `a` with the child `kid`, whose id is in the file `kid`. */
export async function family(house: House): Promise<void> {
  await worker(house)
  house.write('kid', await house.spawn('kid', '--parent', 'a', ...WORKS))
}

export const ended = async (house: House): Promise<unknown> => {
  await worker(house)
  return house.ok('terminate', 'a')
}

export async function gated(house: House): Promise<void> {
  await worker(house)
  await house.ok('gate', 'a')
}

/** The only turn of `a` fails in this way; the next one succeeds. */
export const failing =
  (fail: object) =>
  (house: House): Promise<string> =>
    house.spawn('a', '--option', house.scenario('s.json', { fail, say: 'ok' }, { say: 'ok' }))

/** `lines`: the command that fails, and the corrected one. */
export const usage = (title: string, lines: [string, string?], rest: Partial<History> = {}): History => ({
  ...{ title, prepare: worker, args: wordsOf(lines[0]), code: 'USAGE' },
  ...(lines[1] !== undefined && { corrected: wordsOf(lines[1]) }),
  ...rest,
})

/** The same for another error. */
export const row = (
  code: History['code'],
  title: string,
  line: string,
  rest: Partial<History> = {},
): History => ({ title, prepare: worker, args: wordsOf(line), code, ...rest })

export const pluginList = (house: House): string =>
  join(house.env.XDG_DATA_HOME as string, 'substrat', 'package.json')
