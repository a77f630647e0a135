/**
 * The conformance suite of stores (`substrat/store-conformance`): the promises of `Store`, as cases for any test runner.
 *
 *     for (const { title, run } of storeCases(newHome)) test(title, run)
 *
 * A case throws an Error that names the broken promise.
 */
import { accountCases } from './accounts.js'
import { agentCases } from './agents.js'
import type { NewHome, StoreCase } from './case.js'
import { leaseCases } from './leases.js'
import { mailCases } from './mail.js'
import { nameCases } from './names.js'
import { otherCases } from './others.js'
import { turnEndCases } from './turn-ends.js'

export type { HomeFixture, NewHome, StoreCase } from './case.js'

export function storeCases(newHome: NewHome): StoreCase[] {
  return [
    ...agentCases(newHome),
    ...leaseCases(newHome),
    ...mailCases(newHome),
    ...nameCases(newHome),
    ...otherCases(newHome),
    ...accountCases(newHome),
    ...turnEndCases(newHome),
  ]
}
