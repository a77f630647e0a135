/** Long output on a terminal, through the pager of the user. */
import { Pager } from '../host/pager.js'

const DEFAULT = 'less -FRX'

/** Undefined: print without a pager. `cat` and an empty name mean none. */
export function openPager(env: NodeJS.ProcessEnv = process.env): Pager | undefined {
  const command = pagerOf(env)
  return command === '' || command === 'cat' || env.CI ? undefined : new Pager(command)
}

export function pagerOf({ SUBSTRAT_PAGER, PAGER }: NodeJS.ProcessEnv = process.env): string {
  return (SUBSTRAT_PAGER ?? PAGER ?? DEFAULT).trim()
}
