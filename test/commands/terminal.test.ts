/** Commands on a terminal, which script(1) provides. */
import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { House, type Running } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { waitFor } from '../support/wait.js'

const hasScript = spawnSync('script', ['--version']).status === 0
if (!hasScript) console.warn('skipped: tests on a terminal, because script(1) is not here')

/** stdin, stdout and stderr are one terminal. The result's stdout is everything that the terminal shows. */
function onTerminal(house: House, ...args: string[]): Running {
  const words = house.command(...args).map((word) => `'${word}'`)
  return house.launch(['script', '-qefc', words.join(' '), '/dev/null'], { stdin: 'open' })
}

describe.skipIf(!hasScript).concurrent('on a terminal (needs script)', () => {
  test('send without a message does not wait for one to be typed', async () => {
    const house = new House()
    await house.spawn('a')
    const sent = await onTerminal(house, 'send', 'a').result
    expect(sent.exit).toBe(2)
    expect(sent.stdout).toContain('the message is empty')
  })

  test('a long turn has a status line, which is erased before the reply', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    await house.spawn('a', ...gate.flags)
    const sender = onTerminal(house, 'send', 'a', 'one')
    await waitFor(() => /a · working · \d+ s · turn \d+ s/.test(sender.stdout), 'the status line')
    gate.open()
    const sent = await sender.result
    expect(sent.exit).toBe(0)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequence that erases begins with this one
    expect(sent.stdout).toMatch(/\u001b\[J(?:[^\u001b]|\u001b\[2?2m)*\d s\S*\r\n$/)
  })

  test('control characters are shown as codes', async () => {
    const house = new House()
    await house.spawn('a')
    const title = '\u001b]0;owned\u0007'
    const sent = await onTerminal(house, 'send', 'a', title).result
    expect(sent.stdout).toContain('echo: \\x1b]0;owned\\x07')
    expect((await house.run(['show', 'a', '--reply'])).stdout).toBe(`echo: ${title}\n`)
  })
})
