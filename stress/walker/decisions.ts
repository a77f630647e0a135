/** Histories of parked and cancelled turns. The argument $token is the content of that file. */
import type { House } from '../../test/support/cli.js'
import { MARKS, parked } from '../../test/support/parked.js'
import { row } from './setups.js'
import { firstId, type History } from './walk.js'

async function rotated(house: House): Promise<void> {
  const { token } = await parked(house)
  house.write('token', token)
  await house.ok('token', 'rotate', 'a')
}

async function approved(house: House): Promise<void> {
  const { token } = await parked(house)
  house.write('token', token)
  await house.ok('resume', 'a', '--token', token, '--approve')
}

async function foreign(house: House): Promise<void> {
  const { token } = await parked(house)
  await house.spawn('b')
  house.write('token', token.slice(0, -4) + (token.endsWith('AAAA') ? 'BBBB' : 'AAAA'))
}

const cancelled =
  (...flags: string[]) =>
  async (house: House): Promise<void> => {
    const scenario = house.scenario('s.json', { tools: [MARKS] }, { tools: [MARKS] }, { say: 'finished' })
    await house.spawn('a', '--option', scenario)
    await house.run(['send', 'a', 'go', ...flags])
    await house.ok('cancel', 'a')
  }

/** The turn waits for approval or an answer until a time that has passed. */
const late =
  (park: (house: House) => Promise<unknown>) =>
  async (house: House): Promise<void> => {
    await house.ok('config', 'set', 'token_lifetime', '1ms')
    await park(house)
    await house.waitForTime(firstId(house))
  }

const tokened = async (house: House): Promise<void> => {
  house.write('token', (await parked(house)).token)
}

/** The only request of its budget is used up. */
async function capped(house: House): Promise<void> {
  await house.spawn('a', '--budget', 'requests=1')
  await house.ok('send', 'a', 'first')
}

/** The settings cap dollars, and `scripted` reports none. */
async function unpriced(house: House): Promise<void> {
  await house.spawn('a')
  await house.ok('config', 'set', 'budget', 'usd=5')
}

const BY_TOKEN = 'resume a --token $token --approve'

export const DECISIONS: History[] = [
  row('WAITING', 'a budget is used up', 'send a again', {
    prepare: capped,
    fill: { 'requests=NUMBER': 'requests=5' },
  }),
  row('PROVIDER_MISCONFIGURED', 'a budget counts dollars', 'send a hello', {
    prepare: unpriced,
    fill: { 'tokens=NUMBER': 'tokens=9M' },
    isMended: true,
  }),
  row('TOKEN_MALFORMED', 'a token is none', 'resume a --approve --token x', { prepare: parked }),
  row('TOKEN_REVOKED', 'a token was replaced', BY_TOKEN, { prepare: rotated }),
  row('TOKEN_CONSUMED', 'a token was used for another decision', 'resume a --token $token --deny', {
    prepare: approved,
  }),
  row('TOKEN_FOREIGN', 'a token has another secret', BY_TOKEN, { prepare: foreign }),
  row('TOKEN_EXPIRED', 'a token has expired', BY_TOKEN, { prepare: late(tokened) }),
  row('SESSION_STATE', 'a decision comes too late', 'approve a', {
    prepare: async (house) => [await late(parked)(house), await house.run(['recover', '--all'])],
  }),
  row('TOKEN_NOT_FOUND', 'the agent waits for another token', 'approve a nonsense', { prepare: parked }),
  row('CANCELLED', 'a keyed turn was cancelled', 'send a go --key k', { prepare: cancelled('--key', 'k') }),
  row('CANCELLED', 'the latest turn was cancelled', 'wait a', { prepare: cancelled() }),
]
