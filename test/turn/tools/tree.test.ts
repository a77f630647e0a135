/** The tree tools as a whole: their definitions, and their page docs/tools.md. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Toolbox } from '../../../src/turn/tools/toolbox.js'
import { noTree } from '../../support/tree.js'

const toolbox = new Toolbox({ workspace: '/', home: '/', timeoutMs: 3_600_000, servers: {}, tree: noTree })
const tools = toolbox.treeDefinitions

/** The input of each tool on the page, by its name. */
const documented = new Map(
  [...readFileSync('docs/tools.md', 'utf8').matchAll(/^- `(\w+)\(([^)]*)\)`: /gm)].map(
    ([, name = '', input = '']) => [name, input.split(', ').filter((field) => field !== '')],
  ),
)

test('docs/tools.md lists each tree tool, and no other', () => {
  expect([...documented.keys()].sort()).toEqual(tools.map(({ name }) => name).sort())
})

test.each(tools)('docs/tools.md has the input of $name', ({ name, input_schema }) => {
  const fields = documented.get(name) ?? []
  expect([...fields].sort()).toEqual(Object.keys(input_schema.properties ?? {}).sort())
})

test('a tool that only reads needs no right; any other is allowed by its name, by `tree` and by `all` only', () => {
  const free = tools.filter(({ name }) => toolbox.whyNot(name, []) === undefined)
  expect(free.map(({ name }) => name).sort()).toEqual(['check_inbox', 'inspect_agent', 'list_children'])
  for (const { name } of tools) {
    for (const allow of ['tree', 'all', name]) expect(toolbox.whyNot(name, [allow])).toBeUndefined()
    if (!free.some((each) => each.name === name))
      expect(toolbox.whyNot(name, ['shell', 'spawn'])).toContain(`--allow ${name} or --allow tree`)
  }
  for (const name of ['shell', 'read_file', 'write_file', 'nonsense'])
    expect(toolbox.whyNot(name, ['all'])).toBe(`There is no tool ${name}.`)
})

test('each required field of an input is one of its properties', () => {
  for (const { input_schema } of tools) {
    const {
      properties,
      required = [],
      type,
    } = input_schema as {
      type: string
      properties: object
      required?: string[]
    }
    expect(type).toBe('object')
    for (const field of required) expect(Object.keys(properties)).toContain(field)
  }
})
