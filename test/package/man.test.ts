/** The man pages that the build made, and the list from which npm links them. `WRITE_DOCS=1` writes that list. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { literal, markdown, prose } from '../../man/roff.mjs'

const repository = path.join(import.meta.dirname, '..', '..')
const pages = path.join(repository, 'dist', 'man')
const read = (file: string): string => readFileSync(path.join(repository, file), 'utf8')

test('package.json lists every man page (WRITE_DOCS=1 writes the list)', () => {
  const facts = JSON.parse(read('package.json'))
  const man = readdirSync(pages)
    .sort()
    .map((name) => `dist/man/${name}`)
  if (process.env.WRITE_DOCS === '1')
    writeFileSync(path.join(repository, 'package.json'), `${JSON.stringify({ ...facts, man }, null, 2)}\n`)
  else expect(facts.man).toEqual(man)
  for (const name of ['substrat.1', 'substrat-format.5', 'substrat-durability.7'])
    expect(man).toContain(`dist/man/${name}`)
})

test('each command that help shows has a page with its arguments and flags', () => {
  const { commands } = JSON.parse(read('oclif.manifest.json'))
  type Named = { name: string; hidden?: boolean }
  type Listed = { id: string; hidden?: boolean; args: Record<string, Named>; flags: Record<string, Named> }
  const shown = (Object.values(commands) as Listed[]).filter(({ hidden }) => hidden !== true)
  expect(shown.length).toBeGreaterThan(50)
  const missing = shown.flatMap(({ id, args, flags }) => {
    const text = read(`dist/man/substrat-${id.replaceAll(':', '-')}.1`)
    const listed = (named: Record<string, Named>): string[] =>
      Object.values(named).flatMap(({ name, hidden }) => (hidden === true ? [] : [name]))
    const wanted = [
      ...listed(args).map((name) => `\\fI${literal(name.toUpperCase())}\\fR`),
      ...listed(flags).map((name) => `${literal(name)}\\fR`),
    ]
    return wanted.filter((words) => !text.includes(words)).map((words) => `${id}: ${words}`)
  })
  expect(missing).toEqual([])
})

test('the overview names every exit status, every setting and the files', () => {
  const text = read('dist/man/substrat.1')
  for (const words of ['\\fB143\\fR', '\\fBSUBSTRAT_SLOTS_MAX\\fR', '\\fBSUBSTRAT_HOME\\fR', '.SS "REPAIR"'])
    expect(text).toContain(words)
  expect(text).toContain(`\\fB${literal('~/.cache/substrat, or below XDG_CACHE_HOME')}\\fR`)
})

test('no character of a text begins a request, and every page is ASCII', () => {
  expect(prose(".so /etc/passwd 'quoted'")).toBe('\\&.so /etc/passwd \\(aqquoted\\(aq')
  expect(literal('a\\-b “c”')).toBe('a\\(rs\\-b \\[u201C]c\\[u201D]')
  expect(markdown('```\n.de\n\n\\n\n```', String)).toBe('.PP\n.RS 4\n.EX\n\\&.de\n\\&\n\\(rsn\n.EE\n.RE')
  for (const name of readdirSync(pages)) expect(read(`dist/man/${name}`), name).toMatch(/^[\n\t -~]*$/)
})

test('Markdown that the writer does not know fails the build', () => {
  expect(() => markdown('> quoted', String)).toThrow(
    'man/roff.mjs cannot write Markdown of the type blockquote',
  )
})
