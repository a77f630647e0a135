/** The accounts of budgets in the database. A change counts only if no other process has changed an account since it was read. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Account, AccountEntry, Store } from 'substrat/store'
import { call, type Shared } from './rights.js'

type Accounts = NonNullable<Store['accounts']>

/** Another process changes an account in about a millisecond. */
const ATTEMPTS_MAX = 1000
const PAUSE_MS_MAX = 20

/** `hasAny`: whether the home had an account when it was opened. */
export function accountsOf(shared: Shared, hasAny: boolean): Accounts {
  let isUsed = hasAny
  const read = (scopes: string[]): { account: Account; version: number }[] =>
    call(shared, undefined, (client) => client.read('read_accounts', scopes)).map((row) => ({
      account: { isTrusted: row.is_complete === true, entries: row.entries as AccountEntry[] },
      version: Number(row.version),
    }))
  const put = (scopes: string[], versions: number[], changes: (AccountEntry[] | undefined)[]): boolean => {
    const entries = changes.map((each) => (each === undefined ? null : JSON.stringify(each)))
    const [row] = call(shared, undefined, (client) =>
      client.call('put_accounts', [scopes, versions, entries]),
    )
    return row?.put_accounts === true
  }
  return {
    get isUsed() {
      return isUsed
    },
    open(scope) {
      call(shared, undefined, (client) => client.call('open_account', [scope]))
      isUsed = true
    },
    read: (scope) => read([scope])[0]?.account ?? { isTrusted: false, entries: [] },
    async exchange(scopes, _command, decide) {
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        const found = read(scopes)
        const changes = decide(found.map(({ account }) => account))
        const isChanged = changes.some(
          (each, index) =>
            each !== undefined && (each.length > 0 || found[index]?.account.isTrusted === false),
        )
        isUsed = true
        if (!isChanged) return
        if (
          put(
            scopes,
            found.map(({ version }) => version),
            changes,
          )
        )
          return
        await sleep(Math.random() * PAUSE_MS_MAX)
      }
      throw new shared.kit.SubstratError(
        'LOCKED',
        'other processes keep changing the accounts of this budget',
        {
          hint: 'run the command again',
        },
      )
    },
  }
}
