import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

const house = new House()

describe.concurrent('schema', () => {
  test('lists the schemas, and prints each without making a home', async () => {
    const { json } = await house.ok('schema', '--json')
    const names = json.schemas.map(({ name }: { name: string }) => name)
    expect(names).toEqual(
      expect.arrayContaining(['record', 'snapshot', 'config', 'plugin', 'output-send', 'output-error']),
    )
    expect((await house.ok('schema')).stdout).toMatch(/^output-log +A line of a log\.$/m)
    expect(house.exists()).toBe(false)
  })

  test('prints the JSON Schema of the package, with and without --json', async () => {
    const { json, stdout } = await house.ok('schema', 'record')
    expect(json).toMatchObject({ $id: 'urn:substrat:schema:record', anyOf: expect.any(Array) })
    expect(stdout).toBe(
      `${JSON.stringify(JSON.parse(readFileSync('dist/schemas/record.json', 'utf8')), null, 2)}\n`,
    )
    expect((await house.ok('schema', 'record', '--json')).stdout).toBe(stdout)
  })

  test.each(['index', 'record', 'snapshot', 'output-recover'])('%s has no links of the docs', (name) => {
    expect(readFileSync(`dist/schemas/${name}.json`, 'utf8')).not.toMatch(/\]\([a-z]*(\.md|#)/)
  })

  test('with an unknown name exits 2 and suggests a similar name', async () => {
    const { exit, stderr } = await house.run(['schema', 'recrod'])
    expect(exit).toBe(2)
    expect(stderr).toBe(
      'substrat: there is no schema "recrod"; did you mean record? (list the schemas: substrat schema)\n',
    )
    expect((await house.run(['schema', '../../package'])).exit).toBe(2)
  })

  test('completes the names', async () => {
    expect((await house.ok('complete', '--', 'schema', 'snap')).stdout).toMatch(/^snapshot\t/)
  })
})
