/** The client of the tests of `serve`, which openapi-typescript makes of the OpenAPI document. `WRITE_DOCS=1` writes it. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { expect, test } from 'vitest'
import { type Document, PLUGIN, Served } from '../serve/support.js'
import { House } from '../support/cli.js'

const CLIENT = path.join(import.meta.dirname, '..', 'serve', 'api.d.ts')

function clientOf(document: Document, house: House): string {
  const require = createRequire(path.join(PLUGIN, 'package.json'))
  const cli = path.join(path.dirname(require.resolve('openapi-typescript/package.json')), 'bin', 'cli.js')
  const [from, to] = [
    house.write('openapi.json', JSON.stringify(document)),
    path.join(house.workspace, 'api.d.ts'),
  ]
  execFileSync(process.execPath, [cli, from, '-o', to], { stdio: 'pipe' })
  return readFileSync(to, 'utf8')
}

test('the client of the tests is the one that openapi-typescript makes of the document', async () => {
  const house = new House()
  const served = await Served.start(house)
  const client = clientOf(served.document, house)
  if (process.env.WRITE_DOCS) writeFileSync(CLIENT, client)
  expect(readFileSync(CLIENT, 'utf8'), 'WRITE_DOCS=1 npx vitest run test/docs/openapi.test.ts').toBe(client)
  await served.stop()
})
