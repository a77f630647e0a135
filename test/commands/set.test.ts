import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

describe.concurrent('set', () => {
  test('changes model, instructions, workspace, options and title from the next turn on', async () => {
    const house = new House()
    house.plugin(
      'mirror',
      `
      export default { kind: 'model', description: 'd', options: { a: 'one' }, async *complete(r) {
        yield { type: 'text', text: JSON.stringify([r.model, r.instructions, r.workspace, r.options]) }
        yield { type: 'stop', reason: 'end' }
      } }`,
    )
    await house.spawn('a', '-p', 'mirror')
    const set = await house.ok(
      'set',
      'a',
      '-m',
      'm',
      '-s',
      'Be brief.',
      '-w',
      '/',
      '-o',
      'a=1',
      '--title',
      'T',
    )
    expect(set.stdout).toBe('a is changed; the change takes effect in its next turn\n')
    expect((await house.ok('send', 'a', 'x')).stdout).toBe('["m","Be brief.","/",{"a":"1"}]\n')
    const unset = await house.ok('set', 'a', '--model', '', '--system', '', '--title', '', '--json')
    expect(Object.keys(unset.json)).toEqual(['agent'])
    expect(unset.json.agent).toMatchObject({ model: null, workspace: '/' })
    expect((await house.ok('send', 'a', 'x')).stdout).toBe('[null,null,"/",{"a":"1"}]\n')
  })

  test('refuses an invalid change, and a call without a change, and stores nothing', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const log = house.log(id)
    const refused: [string[], number, RegExp][] = [
      [[], 2, /there is nothing to change \(substrat set --help\)/],
      [['--option', 'nonsense=1'], 2, /scripted has no option "nonsense"/],
      [['--option', 'nonsense'], 2, /is not name=value/],
      [['--option', 'scenario=missing.json'], 8, /the scenario .*missing\.json cannot be read/],
      [['--workspace', '/no/such'], 2, /the workspace \/no\/such does not exist/],
    ]
    for (const [flags, exit, why] of refused) {
      const result = await house.run(['set', 'a', ...flags])
      expect(result.exit, result.stderr).toBe(exit)
      expect(result.stderr).toMatch(why)
    }
    expect(house.log(id)).toBe(log)
  })
})
