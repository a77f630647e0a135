import { expect, test } from 'vitest'
import { House } from '../support/cli.js'

const MB = 1024 * 1024

test('a search of a large home prints the records in order, and ends when its reader does', async () => {
  const house = new House()
  for (const name of ['a', 'b']) {
    await house.spawn(name)
    for (const part of [1, 2, 3])
      await house.run(['send', name, '-'], { stdin: `${'x'.repeat(8 * MB)} the needle ${part} of ${name}` })
  }
  const { exit, stdout } = await house.start(['search', 'needle']).result
  expect(exit).toBe(0)
  expect(
    stdout
      .split('\n')
      .filter((line) => line.startsWith('  '))
      .map((line) => line.slice(24)),
  ).toEqual(
    ['b', 'a'].flatMap((name) =>
      [1, 2, 3].flatMap((part) => [
        expect.stringMatching(new RegExp(`^you: x+ the needle ${part} of ${name}$`)),
        expect.stringMatching(new RegExp(`^agent: x+ the needle ${part} of ${name}$`)),
      ]),
    ),
  )
  const cut = await house.launch(['sh', '-c', `${house.command('search', 'needle').join(' ')} | head -n 1`])
    .result
  expect(cut).toMatchObject({ exit: 0, stdout: 'b\n', stderr: '' })
})
