/** Words that commands must agree on, and next commands that must help. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { parked } from '../support/parked.js'

describe.concurrent('the words of commands', () => {
  test.each(['No.', 'No', 'No!'])('deny --reason %s ends with one stop', async (reason) => {
    const house = new House()
    const { id } = await parked(house)
    await house.ok('deny', 'a', '--reason', reason)
    const said = (await house.ok('log', 'a', '--all')).stdout
    expect(said).toContain(reason)
    expect(said).not.toMatch(/No[.!]\.|\.\./)
    const finished = house.records(id).find(({ kind }) => kind === 'tool.finished') as { content?: string }
    expect(finished.content).toContain(reason)
    expect(finished.content).not.toMatch(/No[.!]\.|\.\.$/)
  })

  test('show and approve agree about a wait that has expired', async () => {
    const house = new House({ SUBSTRAT_TOKEN_LIFETIME: '1ms' })
    const { id } = await parked(house)
    await house.waitForTime(id)
    const { stdout } = await house.ok('show', 'a')
    expect(stdout).toMatch(/^waited for +approval until .*: none came in time\nnext +substrat resume a\n$/m)
    const { exit, stderr } = await house.run(['approve', 'a'])
    expect({ exit, stderr }).toMatchObject({
      exit: 13,
      stderr: expect.stringMatching(
        /^substrat: a is no longer waiting for approval: none came before .* \(let it ask again: substrat resume a\)\n$/,
      ),
    })
  })

  test.each([['show'], ['send'], ['log']])(
    '%s on a damaged log names doctor --all --rebuild',
    async (command) => {
      const house = new House()
      const id = await house.spawn('a')
      await house.ok('send', 'a', 'one')
      await house.ok('send', 'a', 'two')
      house.damage(id, (log) => log.replace('"content":"one"', '"content":"eno"'))
      house.mark(id)
      const { exit, stderr } = await house.run([command, 'a', ...(command === 'send' ? ['three'] : [])])
      expect({ exit, stderr }).toMatchObject({
        exit: 10,
        stderr: expect.stringContaining('substrat doctor --all --rebuild'),
      })
    },
  )
})
