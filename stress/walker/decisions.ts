/** Histories of parked and cancelled turns. The word TOKEN in arguments is the content of the file `token`. */
import type { House } from '../../test/support/cli.js'
import { MARKS, parked } from '../../test/support/parked.js'
import type { History } from './walk.js'

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

export const DECISIONS: History[] = [
  {
    title: 'a token was replaced',
    prepare: rotated,
    args: ['resume', 'a', '--token', 'TOKEN', '--approve'],
    code: 'TOKEN_REVOKED',
  },
  {
    title: 'a token was used for another decision',
    prepare: approved,
    args: ['resume', 'a', '--token', 'TOKEN', '--deny'],
    code: 'TOKEN_CONSUMED',
  },
  {
    title: 'a token has another secret',
    prepare: foreign,
    args: ['resume', 'a', '--token', 'TOKEN', '--approve'],
    code: 'TOKEN_FOREIGN',
  },
  {
    title: 'a keyed turn was cancelled',
    prepare: cancelled('--key', 'k'),
    args: ['send', 'a', 'go', '--key', 'k'],
    code: 'CANCELLED',
  },
  { title: 'the latest turn was cancelled', prepare: cancelled(), args: ['wait', 'a'], code: 'CANCELLED' },
]
