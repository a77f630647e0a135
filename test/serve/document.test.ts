/** The promises of /v1: a later version adds to them, and takes none back. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { type Document, Served } from './support.js'

const FROZEN = path.join(import.meta.dirname, 'v1.txt')

/** The shapes that only the API has. The others are those of `--json`, which have tests of their own. */
const OWN = ['agent_page', 'problem', 'record_page']

/** A line for each thing that a client may rely on. */
function promisesOf({ paths, components }: Document): string[] {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const { operationId, parameters = [], responses, requestBody } = operation
      const at = `${operationId} ${method.toUpperCase()} ${path}`
      const body = fieldsOf(`${at} body`, requestBody?.content['application/json']?.schema ?? {})
      return [
        at,
        ...parameters.map(({ name, in: place }) => `${at} ${place} ${name}`),
        ...Object.keys(responses).map((status) => `${at} answers ${status}`),
        ...body,
      ]
    }),
  )
  const shapes = OWN.flatMap((name) => fieldsOf(name, components.schemas[name] as object))
  return [...operations, ...shapes]
}

function fieldsOf(name: string, schema: object): string[] {
  const {
    properties = {},
    enum: words = [],
    anyOf = [],
  } = schema as {
    properties?: object
    enum?: string[]
    anyOf?: object[]
  }
  return [
    ...Object.keys(properties).map((field) => `${name}.${field}`),
    ...words.map((word) => `${name} = ${word}`),
    ...anyOf.flatMap((part) => fieldsOf(name, part)),
  ]
}

test('nothing of /v1 that was once released is gone', async () => {
  const house = new House()
  const served = await Served.start(house)
  const promises = [...new Set(promisesOf(served.document))].sort()
  const frozen = readFileSync(FROZEN, { encoding: 'utf8', flag: 'a+' }).split('\n').filter(Boolean)
  if (process.env.FREEZE_API)
    writeFileSync(FROZEN, `${[...new Set([...frozen, ...promises])].sort().join('\n')}\n`)
  expect(promises).toEqual(expect.arrayContaining(frozen))
  expect(frozen.length).toBeGreaterThan(50)
  await served.stop()
})
