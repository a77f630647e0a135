import { HOME_ACCOUNT } from '../../format.js'
import { randomUuid } from '../../start/random.js'
import type { AccountEntry, Accounts } from '../store.js'
import { demand, isEqual, type NewHome, type StoreCase, storeCase } from './case.js'

/** Accounts of budgets. A store without them has no cases. */
export function accountCases(newHome: NewHome): StoreCase[] {
  return [
    storeCase(newHome, 'an account has the entries that each writer gave it last', async (home) => {
      const accounts = accountsOf(home.open())
      if (accounts === undefined) return
      const scope = randomUuid()
      accounts.open(scope)
      demand(!accounts.read(scope).isTrusted, 'a new account is not trusted')
      const [a, b] = [entry(1), entry(2)]
      await accounts.exchange([scope], 'conformance', ([account]) => {
        demand(account?.isTrusted === false, 'the logs are read first')
        return [[a]]
      })
      await accountsOf(home.open())?.exchange([scope], 'conformance', ([account]) => {
        demand(account?.isTrusted === true && account.entries.length === 1, 'it is trusted now')
        return [[b]]
      })
      const more = { ...a, hold: { tokens: 7, usd: 0.25 } }
      await accounts.exchange([scope], 'conformance', () => [[more]])
      await accounts.exchange([scope], 'conformance', () => [undefined])
      const { entries } = accounts.read(scope)
      demand(entries.length === 2, 'each agent has one entry')
      const found = entries.find(({ agentId }) => agentId === a.agentId)
      demand(found?.hold?.tokens === 7 && found.hold.usd === 0.25, 'the latest entry counts')
      demand(isEqual(found?.windows.day?.id, '2026-11-29'), 'with its windows')
      accounts.open(scope)
      demand(!accounts.read(scope).isTrusted, 'with a new cap, the logs are read again')
    }),
    storeCase(
      newHome,
      'several accounts change together, while no other process reads them',
      async (home) => {
        const accounts = accountsOf(home.open())
        if (accounts === undefined) return
        const scopes = [HOME_ACCOUNT, randomUuid()]
        const own = entry(0)
        await accounts.exchange(scopes, 'conformance', () => [[own], [own]])
        const add = (): Promise<void> | undefined =>
          accountsOf(home.open())?.exchange(scopes, 'conformance', (found) =>
            found.map(({ entries }) => [
              entry((entries[0]?.windows.total?.spent.tokens ?? 0) + 1, own.agentId),
            ]),
          )
        await Promise.all(Array.from({ length: 10 }, add))
        const totals = scopes.map((scope) => accounts.read(scope).entries[0]?.windows.total?.spent.tokens)
        demand(isEqual(totals, [10, 10]), 'no change is lost')
      },
    ),
  ]
}

function accountsOf(store: { accounts?: Accounts }): Accounts | undefined {
  return store.accounts
}

function entry(tokens: number, agentId: string = randomUuid()): AccountEntry {
  const spent = { tokens, usd: 0, turns: 0, requests: 0, time_ms: 0 }
  return { agentId, windows: { total: { id: '', spent }, day: { id: '2026-11-29', spent } } }
}
