/** docs/commands.md has the shapes of src/schema, and its examples have these shapes. `WRITE_DOCS=1` writes the page. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { z } from 'zod'
import { message } from '../../src/schema/mail.js'
import * as homes from '../../src/schema/output-home.js'
import { OUTPUTS } from '../../src/schema/outputs.js'
import { RECORDS } from '../../src/schema/records.js'
import { examplesOf } from '../support/markdown.js'
import { describedObjects, objectsIn } from '../support/notation.js'
import { checkShape } from '../support/output-shapes.js'

const PAGE = 'docs/commands.md'
const { cancelledMigration, changedSetting, conversation, migrated, oneSetting, record, settings, written } =
  homes

/** The sections of the page, each with its objects. A section without one has the description alone. */
const SECTIONS: Record<string, Record<string, z.ZodObject>> = {
  send: { send: OUTPUTS.send },
  set: { set: OUTPUTS.set },
  cancel: { cancel: OUTPUTS.cancel },
  tree: { tree: OUTPUTS.tree },
  usage: { usage: OUTPUTS.usage },
  prune: { prune: OUTPUTS.prune },
  compact: { compact: OUTPUTS.compact },
  gate: { gate: OUTPUTS.gate },
  inbox: { inbox: OUTPUTS.inbox },
  outbox: { outbox: OUTPUTS.outbox },
  'notify test': { 'notify test': OUTPUTS['notify test'] },
  'channel run': { 'channel run': OUTPUTS['channel run'] },
  schedule: {
    'schedule add, pause, resume, remove': OUTPUTS['schedule add'],
    'schedule list': OUTPUTS['schedule list'],
    'schedule show': OUTPUTS['schedule show'],
  },
  deliver: { deliver: OUTPUTS.deliver },
  wait: { wait: OUTPUTS.wait },
  show: { show: OUTPUTS.show },
  list: { list: OUTPUTS.list },
  check: { check: OUTPUTS.check },
  recover: { recover: OUTPUTS.recover },
  doctor: { doctor: OUTPUTS.doctor },
  unlock: { unlock: OUTPUTS.unlock },
  selftest: { selftest: OUTPUTS.selftest },
  migrate: { migrate: migrated, 'migrate --cancel': cancelledMigration },
  export: { export: conversation, 'export -o': written },
  config: { 'config list': settings, 'config get': oneSetting, 'config set': changedSetting },
  providers: { providers: OUTPUTS.providers },
  plugins: {
    plugins: OUTPUTS.plugins,
    'plugins add, install, link': OUTPUTS['plugins add'],
    'plugins update': OUTPUTS['plugins update'],
    'plugins uninstall': OUTPUTS['plugins uninstall'],
    'plugins reset': OUTPUTS['plugins reset'],
  },
  models: { models: OUTPUTS.models },
  schema: { schema: OUTPUTS.schema },
  'serve token': {
    'serve token add': OUTPUTS['serve token add'],
    'serve token list': OUTPUTS['serve token list'],
    'serve token revoke': OUTPUTS['serve token revoke'],
  },
}

/** The objects that docs/format.md describes. */
const ON_DISK = Object.keys(objectsIn([...Object.values(RECORDS), message].map(({ shape }) => shape)))

test.each(Object.entries(SECTIONS))(
  'docs/commands.md has the shape of %s (WRITE_DOCS=1 writes it)',
  (title, objects) => {
    expectSection(title, describedObjects(objects))
  },
)

test('docs/commands.md describes log, and the objects in the other shapes (WRITE_DOCS=1 writes them)', () => {
  expectSection('log', `${record.description} Without \`crc\`.`)
  const shapes = Object.values(SECTIONS).flatMap((objects) =>
    Object.values(objects).map(({ shape }) => shape),
  )
  const objects = Object.entries(objectsIn(shapes)).filter(([name]) => !ON_DISK.includes(name))
  expectSection('Objects', describedObjects(Object.fromEntries(objects)))
})

test('every command with --json has a schema, and a section of docs/commands.md names it', () => {
  const { commands } = JSON.parse(readFileSync('oclif.manifest.json', 'utf8')) as {
    commands: Record<string, { enableJsonFlag?: boolean }>
  }
  const withJson = Object.entries(commands).flatMap(([id, { enableJsonFlag }]) =>
    enableJsonFlag === true ? [id.replaceAll(':', ' ')] : [],
  )
  expect(Object.keys(OUTPUTS).sort()).toEqual(withJson.sort())
  const headings =
    readFileSync(PAGE, 'utf8')
      .match(/^## .*$/gm)
      ?.join(', ') ?? ''
  expect(withJson.filter((name) => !headings.includes(name.split(' ')[0] as string))).toEqual([])
  expect(readdirSync('commands').length).toBeGreaterThan(20)
})

test('the examples in docs/commands.md have the shapes of src/schema', () => {
  const examples = Object.entries(examplesOf(readFileSync(PAGE, 'utf8')))
  expect(examples.length).toBeGreaterThan(0)
  for (const [heading, example] of examples) checkShape(OUTPUTS.send, example, heading)
})

/** The text between the comments `<!-- src/schema: TITLE -->` and `<!-- end -->`. */
function expectSection(title: string, text: string): void {
  const [begin, end] = [`<!-- src/schema: ${title} -->\n\n`, '<!-- end -->']
  const now = readFileSync(PAGE, 'utf8')
  const from = now.indexOf(begin) + begin.length
  const to = now.indexOf(end, from)
  expect(from, title).toBeGreaterThan(begin.length)
  expect(to, title).toBeGreaterThanOrEqual(from)
  if (process.env.WRITE_DOCS === '1') writeFileSync(PAGE, `${now.slice(0, from)}${text}\n\n${now.slice(to)}`)
  else expect(now.slice(from, to)).toBe(`${text}\n\n`)
}
