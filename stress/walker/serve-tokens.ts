/** Errors about the named tokens of the server. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { House } from '../../test/support/cli.js'
import { NOTHING, row, usage } from './setups.js'
import type { History } from './walk.js'

const ADD = 'serve token add phone --may read'

const phone = (house: House): Promise<unknown> => house.ok(...ADD.split(' '))

function listOf(house: House): string {
  const folder = join(house.env.XDG_STATE_HOME as string, 'substrat')
  return join(folder, readdirSync(folder).find((name) => name.endsWith('.tokens.json')) as string)
}

async function full(house: House): Promise<void> {
  await phone(house)
  const { tokens } = JSON.parse(readFileSync(listOf(house), 'utf8'))
  const others = Array.from({ length: 9_999 }, (_, n) => ({
    ...tokens[0],
    name: `t${n}`,
    sha256: n.toString(16).padStart(64, '0'),
  }))
  writeFileSync(listOf(house), JSON.stringify({ tokens: [...tokens, ...others] }))
}

const spoiled =
  (spoil: (list: string) => void) =>
  async (house: House): Promise<void> => {
    await phone(house)
    spoil(listOf(house))
  }

export const SERVE_TOKENS: History[] = [
  usage('a command of the named tokens is misspelt', ['serve token ad phone --may read'], {
    prepare: NOTHING,
  }),
  usage('the name of a token has a space', ["serve token add 'My Phone' --may read"], { prepare: NOTHING }),
  usage('the name of a token is reserved', ['serve token add operator --may read'], { prepare: NOTHING }),
  usage('the link of a token has a path', [`${ADD} --url https://box/sub`, `${ADD} --url https://box`], {
    prepare: NOTHING,
  }),
  usage('there are too many named tokens', ['serve token add more --may read'], {
    prepare: full,
    fill: { NAME: 't1' },
    isMended: true,
  }),
  row('NAME_TAKEN', 'a token has the name', ADD, { prepare: phone, isMended: true }),
  row('TOKEN_NOT_FOUND', 'no token has the name', 'serve token revoke laptop', { prepare: phone }),
  row('CORRUPT', 'the list of named tokens is damaged', ADD, {
    prepare: spoiled((list) => writeFileSync(list, '{')),
    isMended: true,
  }),
  row('CORRUPT', 'a directory is in the place of the list of named tokens', ADD, {
    prepare: spoiled((list) => [rmSync(list), mkdirSync(list)]),
    isMended: true,
  }),
  row('HOME_EXPOSED', 'other users can read the list of named tokens', ADD, {
    prepare: spoiled((list) => chmodSync(list, 0o644)),
    isMended: true,
  }),
]
