import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { isAlive } from '../../support/programs.js'
import { tempDirectory } from '../../support/temp.js'
import { type Bench, bench, serverThat } from '../../support/toolboxes.js'
import { waitFor } from '../../support/wait.js'

let started: Bench | undefined

afterEach(async () => {
  await started?.toolbox.stop()
})

/** A toolbox with one server, named `notes`. */
async function withServer(how: string, ready?: string): Promise<Bench> {
  started = bench({ servers: { notes: serverThat(how, ready) } })
  await started.startServers()
  return started
}

const namesOf = ({ toolbox }: Bench): string[] =>
  toolbox.definitions.map(({ name }) => name).filter((name) => name.includes('__'))

describe('a tool server', () => {
  test('adds the tools of every page of its list, named server__tool, with descriptions and schemas', async () => {
    const made = await withServer('well')
    expect(namesOf(made)).toEqual([
      'notes__add',
      'notes__fail',
      'notes__die',
      'notes__hang',
      'notes__picture',
      'notes__order',
    ])
    expect(made.toolbox.definitions).toContainEqual({
      name: 'notes__add',
      description: 'Adds.',
      input_schema: { type: 'object', properties: { a: { type: 'number' } } },
    })
    expect(made.groups).toHaveLength(1)
  })

  test('adds a note for each tool left out: one with a name that no model accepts, or a name in use', async () => {
    const { notes } = await withServer('well')
    expect(notes).toEqual([
      'the tool notes__no model takes this is left out: no model accepts such a name',
      'the tool notes__add is left out: another tool has that name',
    ])
  })

  test('answers a call', async () => {
    const { run } = await withServer('well')
    expect(await run('notes__add', { a: 1, b: 2 })).toEqual({ content: '3', is_error: false, whole: null })
  })

  test('leaves the result to come from elsewhere if `_meta` says so, perhaps with a deadline', async () => {
    const { run } = await withServer('well')
    const placed = { content: 'order 12 is placed', is_error: false, whole: null }
    expect(await run('notes__order', {})).toEqual({ ...placed, deferred: { deadline_ms: null } })
    expect(await run('notes__order', { within: 60 })).toEqual({
      ...placed,
      deferred: { deadline_ms: 60_000 },
    })
    expect(await run('notes__order', { within: 'soon' })).toMatchObject({ is_error: true })
  })

  test('that answers with an error returns it to the model', async () => {
    const { run } = await withServer('well')
    expect(await run('notes__fail', {})).toMatchObject({ content: 'no such note', is_error: true })
  })

  test('that answers with other content has its type named, and the text of a resource returned', async () => {
    const { run } = await withServer('well')
    expect((await run('notes__picture', {})).content).toBe(
      'look:\n[image image/png is left out: substrat passes only text to the model]\na note',
    )
  })

  test.each([
    ['structured alone', '{"n":42,"deep":[1]}'],
    ['structured with a sentence', 'found 1\n{"n":42}'],
    ['structured twice', '{ "n": 42 }'],
    ['structured that is not as promised', 'real\n{"n":"x"}'],
    ['a wrapped text', 'five'],
    ['a link', '[resource link: file:///a/b.txt, b, notes]'],
    [
      'other media',
      '[image image/png is left out: substrat passes only text to the model]\n[audio audio/wav is left out: substrat passes only text to the model]\n[resource x://y is left out: it is not text]',
    ],
    ['a text', 'plain'],
    ['an unknown part', '{"type":"chart","points":[1,2]}\nnull'],
    ['the first revision', '{"n":1}'],
    ['nothing', ''],
  ])('that answers %s has it passed to the model', async (of, content) => {
    const { run } = await withServer('results')
    expect(await run('notes__show', { of })).toMatchObject({ content, is_error: false })
  })

  test('that fails without words, or answers over the limit, has that told to the model, and goes on', async () => {
    const { run } = await withServer('results')
    expect(await run('notes__show', { of: 'an error without words' })).toMatchObject({
      content: 'The tool failed without saying why.',
      is_error: true,
    })
    expect(await run('notes__show', { of: 'too much' })).toMatchObject({
      content: 'the answer is over the limit of 10 MiB and was not read; ask for less',
      is_error: true,
    })
    expect(await run('notes__show', { of: 'a text' })).toMatchObject({ content: 'plain' })
  })

  test('with spoiled tools in its list loses only those that no model could use', async () => {
    const made = await withServer('spoiled list')
    const names = ['null', 'no_schema', 'bad_output', 'either', 'last']
    expect(namesOf(made)).toEqual(names.map((name) => `notes__${name}`))
    expect(made.toolbox.definitions.find(({ name }) => name === 'notes__either')).toEqual({
      name: 'notes__either',
      description:
        'One of two.\nThe input must also match this schema: {"anyOf":[{"properties":{"a":{}},"required":["a"]},{"required":["b"]}]}',
      input_schema: { type: 'object', properties: { a: {}, b: {} } },
    })
    expect(made.notes).toEqual([
      'the tool schema_text is left out: its input schema is not an object (tool server notes)',
      'the tool schema_array is left out: its input is not an object (tool server notes)',
      'the tool large is left out: it is larger than 524288 bytes (tool server notes)',
      'the tool number 8 is left out: it has no name (tool server notes)',
      'the tool number 9 is left out: it has no name (tool server notes)',
    ])
  })

  test('that dies in mid-call fails that call and later ones with its last words, and nothing else', async () => {
    const { run } = await withServer('well')
    expect((await run('notes__die', {})).content).toBe(
      'the tool server notes ended before it answered; how far it got is unknown: exit status 3; its stderr: the database is gone',
    )
    expect((await run('notes__add', { a: 1, b: 2 })).content).toBe(
      'the tool server notes has ended: exit status 3; its stderr: the database is gone',
    )
    expect(await run('shell', { command: 'echo fine' })).toMatchObject({ content: 'fine\n' })
  })

  test('that has ended fails a call as never made, also while its child holds its pipes open', async () => {
    const ready = join(tempDirectory(), 'pid')
    const { run } = await withServer('leaves a child with its pipes', ready)
    expect((await run('notes__add', { a: 1, b: 2 })).content).toBe('3')
    // Node removes a dead child when it reports its end.
    await waitFor(() => !existsSync(`/proc/${pidIn(ready)}`), 'the server to end')
    expect((await run('notes__add', { a: 1, b: 2 })).content).toBe(
      'the tool server notes has ended: exit status 3; its stderr: the database is gone',
    )
  })

  test('that never answers a call does not delay the stop of the turn', async () => {
    const { run } = await withServer('well')
    const controller = new AbortController()
    const result = run('notes__hang', {}, controller.signal)
    controller.abort()
    expect(await result).toMatchObject({ content: 'Interrupted: the turn was stopped.', is_error: true })
  })

  test('may write other text between its messages', async () => {
    const { run } = await withServer('garbage')
    expect((await run('notes__add', { a: 2, b: 2 })).content).toBe('4')
  })

  test.each(['dies at once', 'endless line', 'endless pages'])(
    'that %s has no tools, and that is said',
    async (how) => {
      const made = await withServer(how)
      expect(namesOf(made)).toEqual([])
      expect(made.notes).toEqual([expect.stringMatching(/^the tool server notes does not start: .+/)])
      expect(made.groups.map(({ process_group }) => isAlive(process_group))).toEqual([false])
    },
  )

  test.each([
    ['/nonexistent/server', '/nonexistent/server does not exist'],
    ['nonexistent-server', 'nonexistent-server was not found in PATH'],
    ['/etc/passwd', '/etc/passwd cannot be executed'],
  ])('whose command is %s has no tools, and the cause is named', async (command, reason) => {
    started = bench({ servers: { notes: { command, args: [], env: {} } } })
    await started.startServers()
    expect(namesOf(started)).toEqual([])
    expect(started.notes).toEqual([`the tool server notes does not start: ${reason}`])
    expect((await started.run('notes__add', {})).content).toBe(
      `There is no tool notes__add now: its tool server notes did not start (${reason}).`,
    )
  })

  test('that never answers at its start does not delay the stop of the turn', async () => {
    const ready = join(tempDirectory(), 'pid')
    started = bench({ servers: { notes: serverThat('never answers', ready) } })
    const controller = new AbortController()
    const starting = started.startServers(controller.signal)
    await waitFor(() => pidIn(ready) > 0, 'the server to start')
    controller.abort()
    await starting
    expect(isAlive(pidIn(ready))).toBe(false)
  })

  test.each(['well', 'clings to life'])('is dead when the turn is over (%s)', async (how) => {
    const ready = join(tempDirectory(), 'pid')
    const { toolbox } = await withServer(how, ready)
    expect(isAlive(pidIn(ready))).toBe(true)
    await toolbox.stop()
    expect(isAlive(pidIn(ready))).toBe(false)
  })
})

test('a server that does not start does not affect the others', async () => {
  started = bench({ servers: { broken: serverThat('dies at once'), notes: serverThat('well') } })
  await started.startServers()
  expect(namesOf(started)).toContain('notes__add')
  expect(started.notes[0]).toBe(
    'the tool server broken does not start: exit status 1; its stderr: cannot find the database',
  )
})

test('servers start once, for any number of requests to the model', async () => {
  const made = await withServer('well')
  await made.startServers()
  expect(made.groups).toHaveLength(1)
})

function pidIn(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return 0
  }
}
