import { expect, test } from 'vitest'
import { House } from '../support/cli.js'

const KEYED = `module.exports = {
  kind: 'model',
  description: 'has keys',
  options: { wait: 'how long (5m)', mode: 'how (default: as the server decides)', url: 'where', b: 'x (y) z' },
  secrets: ({ options }) => [options.key_env ?? 'KEYED_API_KEY'],
  async *complete() {},
}`

test('the list of providers has the defaults and the keys that each one declares', async () => {
  const house = new House()
  house.plugin('keyed', KEYED)
  const { json } = await house.ok('providers', 'keyed', '--json')
  expect(json.providers).toMatchObject([
    { name: 'keyed', defaults: { wait: '5m', mode: 'as the server decides' }, keys: ['KEYED_API_KEY'] },
  ])
  expect(json.providers).toHaveLength(1)
  expect((await house.ok('providers', 'keyed')).stdout).toContain('KEYED_API_KEY (not set)')
  expect((await house.run(['providers', 'keyd'])).stderr).toContain('did you mean keyed?')
})
