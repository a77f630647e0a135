/** A sample of `npm run stress:turns`, on each run of the tests. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoStrace } from '../../stress/kill/strace.js'
import { Lab } from '../../stress/support/lab.js'
import { killedConversation } from '../../stress/turns/conversation.js'
import { killedTools } from '../../stress/turns/orphans.js'
import { killedRows, rowsPage } from '../../stress/turns/rows.js'
import { racedTokens } from '../../stress/turns/tokens.js'

const why = whyNoStrace()
if (why !== undefined) console.log(`skipped: turns killed before they write (${why})`)
const unless = why === undefined ? '' : ` (skipped: ${why})`

let lab: Lab
beforeAll(() => {
  lab = Lab.open()
  lab.runInProcess()
})
afterAll(() => lab.close())

describe.skipIf(why !== undefined)(`killed before they write${unless}`, () => {
  test('each kill leaves its row of the recovery table, and ends as test/stress/recovery-rows.md has it', async () => {
    const reports = await killedRows(lab)
    for (const { row, found } of reports) if (row !== 'K') expect(found ?? row).toBe(row)
    expect(rowsPage(reports)).toBe(readFileSync('test/stress/recovery-rows.md', 'utf8'))
  })
})

test('no process of a tool outlives its substrat', async () => {
  const { running, orphans } = await killedTools(lab, 2)
  expect(running).toBeGreaterThan(8)
  expect(orphans).toBe(0)
})

test('a token is consumed once, however many try', async () => {
  const { differences, answered, refused } = await racedTokens(lab, 2, 6)
  expect(differences).toEqual([])
  expect(answered + refused).toBe(12)
})

// Last: with the plugin of this model linked, every command of the lab is a process again.
describe.skipIf(why !== undefined)(`killed again and again before they write${unless}`, () => {
  test.each(['stop', 'continue'] as const)(
    'a conversation is that of the run never killed, with unknown_tool %s',
    async (unknownTool) => {
      const report = await killedConversation(lab, unknownTool, 3, 'openai')
      expect(report.differences).toEqual([])
      expect(report.stepsKilled).toBe(3)
    },
  )
})
