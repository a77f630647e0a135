/** `serve token add`, `list` and `revoke`. */
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

const list = async (house: House) =>
  (await house.ok('serve', 'token', 'list', '--json')).json.tokens.map(
    ({ name, may }: Record<string, string>) => [name, may],
  )

describe.concurrent('serve token', () => {
  test('add prints a token once, and stores only its hash in files of its owner, outside of the home', async () => {
    const house = new House()
    const { stdout, stderr } = await house.ok('serve', 'token', 'add', 'phone', '--may', 'answer')
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^[\w-]{43}\n$/), ''])
    const { json } = await house.ok('serve', 'token', 'add', 'ci', '--may', 'read', '--json')
    expect(json).toMatchObject({
      name: 'ci',
      may: 'read',
      link: `http://127.0.0.1:4777/#token=${json.token}`,
    })
    expect(await list(house)).toEqual([
      ['phone', 'answer'],
      ['ci', 'read'],
    ])
    const folder = path.join(house.env.XDG_STATE_HOME as string, 'substrat')
    for (const name of readdirSync(folder)) expect(statSync(path.join(folder, name)).mode & 0o077).toBe(0)
    expect(house.exists()).toBe(false)
  })

  test('add prints the link for the address that is given, apart from the token', async () => {
    const house = new House()
    const given = ['add', 'phone', '--may', 'all', '--url', 'https://box.example:99']
    const { stdout, stderr } = await house.ok('serve', 'token', ...given)
    expect(stderr).toBe(`substrat: open the page with it: https://box.example:99/#token=${stdout}`)
  })

  test('add refuses a name that is not one, with a line to type', async () => {
    const house = new House()
    for (const [name, meant] of [
      ['My Phone', 'my-phone'],
      ['Büro', 'bu-ro'],
      ['-', 'phone'],
      ['x'.repeat(65), 'x'.repeat(64)],
      ['../../etc', 'etc'],
    ]) {
      const { exit, stderr } = await house.run(['serve', 'token', 'add', name as string, '--may', 'read'])
      expect([name, exit]).toEqual([name, 2])
      const [, line = ''] = /: substrat (serve token add .+)\)\n$/.exec(stderr) ?? []
      expect(line).toBe(`serve token add ${meant} --may read`)
      await house.ok(...line.split(' '))
      await house.ok('serve', 'token', 'revoke', meant as string)
    }
    const reserved = await house.run(['serve', 'token', 'add', 'operator', '--may', 'read'])
    expect(reserved.stderr).toContain('operator is the name of the token that substrat serve makes itself')
  })

  test('add refuses a name that exists until it is revoked', async () => {
    const house = new House()
    await house.ok('serve', 'token', 'add', 'phone', '--may', 'all')
    const again = await house.run(['serve', 'token', 'add', 'phone', '--may', 'read', '--json'])
    expect([again.exit, again.json.error.code]).toEqual([13, 'NAME_TAKEN'])
    expect(await list(house)).toEqual([['phone', 'all']])
    expect((await house.ok('serve', 'token', 'revoke', 'phone')).stdout).toBe('phone is revoked\n')
    await house.ok('serve', 'token', 'add', 'phone', '--may', 'read')
    expect(await list(house)).toEqual([['phone', 'read']])
  })

  test('revoke refuses an unknown name with the names that exist, and takes all of them with --all', async () => {
    const house = new House()
    const none = await house.run(['serve', 'token', 'revoke', 'phone'])
    expect([none.exit, none.stderr]).toEqual([3, expect.stringContaining('no named token exists')])
    for (const name of ['a', 'b']) await house.ok('serve', 'token', 'add', name, '--may', 'read')
    const unknown = await house.run(['serve', 'token', 'revoke', 'phone'])
    expect(unknown.stderr).toContain('there is no token "phone"; the tokens are a, b')
    for (const words of [[], ['a', '--all']])
      expect((await house.run(['serve', 'token', 'revoke', ...words])).exit).toBe(2)
    expect((await house.ok('serve', 'token', 'revoke', '--all', '--json')).json).toEqual({
      revoked: ['a', 'b'],
    })
    expect((await house.ok('serve', 'token', 'list')).stdout).toContain('no named tokens')
  })

  test('is for the home of the command', async () => {
    const house = new House()
    await house.ok('serve', 'token', 'add', 'phone', '--may', 'read')
    const other = { env: { SUBSTRAT_HOME: path.join(house.root, 'other') } }
    expect((await house.run(['serve', 'token', 'list', '--json'], other)).json).toEqual({ tokens: [] })
  })

  test('connects to no database, and a password in the URL of the home makes no difference', async () => {
    const house = new House()
    const of = (user: string) => ({ env: { SUBSTRAT_HOME: `postgres://${user}@127.0.0.1:1/x` } })
    const added = await house.start(['serve', 'token', 'add', 'phone', '--may', 'read'], of('ann:secret'))
      .result
    expect([added.exit, added.stderr]).toEqual([0, ''])
    const listed = await house.start(['serve', 'token', 'list', '--json'], of('ann')).result
    expect(listed.json).toMatchObject({ tokens: [{ name: 'phone' }] })
  })

  test('neither adds nor revokes for a tool of an agent', async () => {
    const house = new House()
    await house.ok('serve', 'token', 'add', 'phone', '--may', 'read')
    const env = { SUBSTRAT_AGENT: await house.spawn('a') }
    for (const words of [
      ['add', 'mine', '--may', 'all'],
      ['revoke', 'phone'],
      ['revoke', '--all'],
    ]) {
      const { exit, stderr } = await house.run(['serve', 'token', ...words], { env })
      expect([exit, stderr]).toEqual([13, expect.stringContaining('only a person may')])
    }
    expect(await list(house)).toEqual([['phone', 'read']])
  })

  test('without its last word, or with a misspelt one, is refused as a command', async () => {
    const house = new House()
    for (const [words, meant] of [
      [['serve', 'token'], 'serve token add'],
      [['serve', 'token', 'revok', 'phone'], 'serve token revoke'],
    ] as const) {
      const { exit, stderr } = await house.run([...words])
      expect([exit, stderr]).toEqual([2, expect.stringContaining(`did you mean ${meant}?`)])
    }
  })
})
