/** Turns of an agent program that need the user, are rate limited, or have lost their conversation. */
import { describe, expect, test } from 'vitest'
import { NativeHouse } from '../support/native.js'
import { waitFor } from '../support/wait.js'

const ASKS = [{ call_id: 'n1', tool: 'Bash', input: { command: 'make install' } }]
const ASKING = { type: 'wait', kind: 'approval', asks: ASKS }
const DONE = { type: 'done', reply: 'installed' }
const WORKS = [
  { type: 'tool_started', call_id: 'n0', tool: 'Read', input: { path: 'a' } },
  { type: 'tool_finished', call_id: 'n0', tool: 'Read', output: 'text', is_error: false },
]

/** Parks a turn, and returns the agent's id and the token. */
async function parked(house: NativeHouse, ...after: object[][]): Promise<{ id: string; token: string }> {
  house.turns([ASKING], ...after)
  const id = await house.spawn('a', '--provider', 'native')
  const { exit, json, stderr } = await house.run(['send', 'a', 'install it', '--json'])
  expect(exit, stderr).toBe(5)
  return { id, token: json.wait.token }
}

describe.concurrent('a program that needs the user', () => {
  test('parks its run with a token; its processes end, and the log has its session', async () => {
    const house = new NativeHouse()
    house.turns([...WORKS, { launch: 'true' }, ASKING])
    const id = await house.spawn('a', '--provider', 'native')
    const { exit, stdout, stderr } = await house.run(['send', 'a', 'install it', '--print-token'])
    expect({ exit, stdout }).toEqual({ exit: 5, stdout: '' })
    expect(stderr).toContain('the agent asks to run: Bash')
    expect(stderr).toMatch(/substrat: token st_/)
    expect(stderr).toMatch(/is waiting for approval until .*substrat approve a, or substrat deny a/)
    expect((await house.ok('show', 'a', '--json')).json.wait).toMatchObject({
      kind: 'approval',
      token: null,
      asks: [{ tool: 'Bash', input: { command: 'make install' } }],
    })
    expect(house.kinds(id).slice(-5)).toEqual([
      'provider.state',
      'token.minted',
      'run.waiting',
      'session.suspended',
      'status.derived',
    ])
    expect(house.records(id).filter(({ kind }) => kind.startsWith('program.'))).toEqual([
      expect.objectContaining({
        kind: 'program.tool_started',
        call_id: 'n0',
        tool: 'Read',
        input: { path: 'a' },
      }),
      expect.objectContaining({
        kind: 'program.tool_finished',
        call_id: 'n0',
        content: 'text',
        is_error: false,
      }),
    ])
    expect(house.findings(true)).toEqual([])
  })

  test.each([
    ['approve', ['approve', 'a'], { decision: 'approve', text: '' }],
    ['deny', ['deny', 'a', '--reason', 'not today'], { decision: 'deny', text: 'not today' }],
  ])('gets the decision of a user without a token: %s', async (_, command, answer) => {
    const house = new NativeHouse()
    const { id } = await parked(house, [DONE])
    expect(await house.ok(...command)).toMatchObject({ stdout: 'installed\n' })
    const [asked, told] = house.told()
    expect(told).toEqual({ session: asked?.session, answer: { ...answer, asks: ASKS } })
    expect(house.count(id, 'run.completed')).toBe(1)
    expect(house.findings(true)).toEqual([])
  })

  test("gets the answer to its question from the token's owner, once", async () => {
    const house = new NativeHouse()
    house.turns([{ ...ASKING, kind: 'input' }], [DONE])
    await house.spawn('a', '--provider', 'native')
    const { json } = await house.run(['send', 'a', 'install it', '--json'])
    const input = ['resume', 'a', '--token', json.wait.token, '--input', 'the left one']
    for (const flags of [
      ['approve', 'a'],
      ['resume', 'a', '--token', json.wait.token, '--result', 'turns.json'],
    ]) {
      const { exit, stderr } = await house.run(flags)
      expect(exit).toBe(2)
      expect(stderr).toMatch(/; use --input or --deny \(/)
      expect(stderr).toContain("substrat answer a '…'")
    }
    expect(await house.ok(...input)).toMatchObject({ stdout: 'installed\n' })
    expect(await house.ok(...input)).toMatchObject({ stdout: 'installed\n' })
    expect(house.told().slice(1)).toMatchObject([{ answer: { decision: 'input', text: 'the left one' } }])
  })

  test('may ask again, which creates another token', async () => {
    const house = new NativeHouse()
    const { token } = await parked(house, [ASKING], [DONE])
    const again = await house.run(['resume', 'a', '--token', token, '--approve', '--json'])
    expect(again.exit).toBe(5)
    expect(again.json.wait.token).not.toBe(token)
    expect(await house.ok('resume', 'a', '--token', again.json.wait.token, '--approve')).toMatchObject({
      stdout: 'installed\n',
    })
  })

  test('cannot get a result: it runs the tool itself', async () => {
    const house = new NativeHouse()
    const { id, token } = await parked(house)
    const log = house.log(id)
    const file = house.write('result', 'x')
    // Each refusal names commands that work.
    for (const flags of [
      ['--result', file],
      ['--input', 'x'],
    ]) {
      const { exit, stderr } = await house.run(['resume', 'a', '--token', token, ...flags])
      expect(exit).toBe(2)
      expect(stderr).toContain('; use --approve or --deny (')
      expect(stderr).toContain('substrat approve a, or substrat deny a')
    }
    expect(house.log(id)).toBe(log)
  })

  test("gets the answer even if the process died between the decision and the program's start", async () => {
    const house = new NativeHouse()
    const { id, token } = await parked(house, [{ hang: true }], [DONE])
    const decide = ['resume', 'a', '--token', token, '--approve']
    const killed = house.start(decide)
    await waitFor(() => house.told().length === 2, 'the answer')
    await killed.kill()
    // The same decision again, as a user would repeat it after losing the output.
    expect(await house.ok(...decide)).toMatchObject({ stdout: 'installed\n' })
    const [, ...answers] = house.told()
    expect(answers).toMatchObject([{ answer: { decision: 'approve' } }, { answer: { decision: 'approve' } }])
    expect(house.count(id, 'wait.answered')).toBe(1)
    expect(house.inspections()).toBe(0)
    expect(house.findings(true)).toEqual([])
  })

  test("gets the decision as text if everything died at the program's start: it may have missed it", async () => {
    const house = new NativeHouse()
    const { id, token } = await parked(house, [{ launch: 'touch runs; sleep 3600' }], [DONE])
    const decide = ['resume', 'a', '--token', token, '--approve']
    const killed = house.start(decide)
    await waitFor(() => house.read('runs') !== undefined, 'the program')
    await killed.kill()
    expect(await house.ok(...decide)).toMatchObject({ stdout: 'installed\n' })
    const [, answered, told] = house.told()
    expect(told).toMatchObject({
      session: answered?.session,
      prompt: expect.stringMatching(
        /interrupted.*install it\n\n.*granted it once, for this:\n- Bash .*make install/s,
      ),
    })
    expect([house.count(id, 'wait.answered'), house.inspections()]).toEqual([1, 1])
  })
})

describe.concurrent('a rate-limited program', () => {
  const limit = (ms: number): object => ({
    fail: { type: 'rate_limit', message: 'usage limit reached', retry_after_ms: ms },
  })

  test("is not started before the provider's retry time", async () => {
    const house = new NativeHouse()
    house.turns([limit(3_600_000)])
    await house.spawn('a', '--provider', 'native')
    const { exit, json, stderr } = await house.run(['send', 'a', 'install it', '--json'])
    expect(exit, stderr).toBe(7)
    expect(json.wait).toMatchObject({ kind: 'not_before', token: null })
    const hour = Date.parse(json.wait.not_before) - Date.parse(json.agent.updated_at)
    expect(Math.round(hour / 60_000)).toBe(60)
    expect((await house.run(['resume', 'a'])).exit).toBe(7)
    expect(house.told()).toHaveLength(1)
  })

  test('continues at that time with the same prompt', async () => {
    const house = new NativeHouse()
    house.turns([limit(500)], [DONE])
    const id = await house.spawn('a', '--provider', 'native')
    await house.run(['send', 'a', 'install it'])
    await house.waitForTime(id)
    await house.ok('recover', '--all')
    expect(house.told().map((told) => 'prompt' in told && told.prompt)).toEqual(['install it', 'install it'])
    expect((await house.ok('show', 'a', '--json')).json).toMatchObject({ reply: 'installed', wait: null })
    expect(house.count(id, 'run.started')).toBe(1)
  })

  test('gets a notice of the interruption if it had already started to work', async () => {
    const house = new NativeHouse()
    house.turns([...WORKS, limit(1)], [DONE])
    const id = await house.spawn('a', '--provider', 'native')
    expect((await house.run(['send', 'a', 'install it'])).exit).toBe(7)
    await house.waitForTime(id)
    expect(await house.ok('resume', 'a')).toMatchObject({ stdout: 'installed\n' })
    const again = house.told()[1]
    expect(again).toMatchObject({ prompt: expect.stringContaining('install it') })
    expect(again).not.toMatchObject({ prompt: 'install it' })
  })
})

describe.concurrent('a program whose session', () => {
  test('is open in another process is busy: exit 4', async () => {
    const house = new NativeHouse()
    house.turns([{ fail: { type: 'busy', message: 'the session is open elsewhere' } }])
    await house.spawn('a', '--provider', 'native')
    const { exit, json } = await house.run(['send', 'a', 'hi', '--json'])
    expect({ exit, code: json.error.code }).toEqual({ exit: 4, code: 'LOCKED' })
    expect(json.error.message).toContain('the session is open elsewhere')
  })

  test('is lost reports that, and --reseed starts a new session from the log', async () => {
    const house = new NativeHouse()
    house.turns(
      [{ type: 'done', reply: 'noted' }],
      [{ fail: { type: 'session_lost', message: 'there is no such session' } }],
    )
    const id = await house.spawn('a', '--provider', 'native')
    await house.ok('send', 'a', 'remember 17')
    const lost = await house.run(['send', 'a', 'which number?'])
    expect(lost.exit).toBe(9)
    expect(lost.stderr).toContain('there is no such session')
    expect(lost.stderr).toContain('substrat resume a --reseed')
    const { stdout } = await house.ok('resume', 'a', '--reseed')
    expect(stdout).toContain('which number?')
    await house.ok('send', 'a', 'thank you')

    const [first, second, third, last] = house.told() as { session: string; prompt: string }[]
    expect(second?.session).toBe(first?.session)
    expect(third?.session).not.toBe(first?.session)
    expect(third?.prompt).toMatch(/<conversation>\n\nUser: remember 17\n\nYou: noted\n\n<\/conversation>/)
    expect(third?.prompt.match(/which number\?/g)).toHaveLength(1)
    // The program has the conversation and does not get it again.
    expect(last).toEqual({ session: third?.session, prompt: 'thank you' })
    expect(house.count(id, 'session.seeded')).toBe(1)
    expect(house.findings(true)).toEqual([])
  })
})

describe.concurrent('resume --reseed', () => {
  test('gives the conversation once when it is repeated', async () => {
    const house = new NativeHouse()
    house.turns([DONE], [DONE], [DONE])
    await house.spawn('a', '--provider', 'native')
    await house.ok('send', 'a', 'remember 17')
    for (const word of ['one', 'two']) {
      await house.ok('resume', 'a', '--reseed')
      await house.ok('send', 'a', word)
    }
    const last = house.told().at(-1) as { prompt: string }
    expect(last.prompt.match(/User: remember 17/g)).toHaveLength(1)
    expect(last.prompt).toContain('User: one')
  })

  test('gives a pending decision as text, because the new session never asked for it', async () => {
    const house = new NativeHouse()
    const { token } = await parked(house, [{ hang: true }], [DONE])
    const killed = house.start(['resume', 'a', '--token', token, '--approve'])
    await waitFor(() => house.told().length === 2, 'the answer')
    await killed.kill()
    expect(await house.ok('resume', 'a', '--reseed')).toMatchObject({ stdout: 'installed\n' })
    expect(house.told().at(-1)).toMatchObject({
      prompt: expect.stringMatching(/^install it\n\n.*granted it once, for this:\n- Bash/),
    })
  })

  test('is refused while the turn waits, and for a model provider', async () => {
    const house = new NativeHouse()
    const { id } = await parked(house)
    const model = await house.spawn('m', '--provider', 'scripted')
    await house.ok('send', 'm', 'hi')
    for (const agent of [id, model]) {
      const log = house.log(agent)
      const { exit, json } = await house.run(['resume', agent, '--reseed', '--json'])
      expect([exit, json.error.code]).toEqual([13, 'SESSION_STATE'])
      expect(house.log(agent)).toBe(log)
    }
  })
})

describe.concurrent('the store of a program', () => {
  const begun = async (house: NativeHouse, ...turn: object[]): Promise<string> => {
    house.turns(turn)
    return house.spawn('a', '--provider', 'native')
  }

  test('is read only for a turn whose program was started', async () => {
    const house = new NativeHouse()
    await begun(house, { hang: true })
    const killed = house.start(['send', 'a', 'hi'])
    await waitFor(() => house.told().length === 1, 'the turn')
    await killed.kill()
    expect(await house.ok('recover', 'a', '--json')).toMatchObject({
      stdout: expect.stringContaining('"row":"B"'),
    })
    expect(house.inspections()).toBe(0)
  })

  test('has the reply of a killed turn that had finished, and the turn is not repeated', async () => {
    const house = new NativeHouse()
    const id = await begun(house, { launch: 'printf built > finished; sleep 3600' })
    const killed = house.start(['send', 'a', 'hi', '--key', 'k'])
    await waitFor(() => house.read('finished') === 'built', 'the program')
    await killed.kill()
    expect(await house.ok('send', 'a', 'hi', '--key', 'k')).toMatchObject({ stdout: 'built\n' })
    expect([house.inspections(), house.told().length, house.count(id, 'run.started')]).toEqual([1, 1, 1])
  })

  test('shows that a killed turn had not finished, and the turn continues in the same session', async () => {
    const house = new NativeHouse()
    const id = await begun(house, { launch: 'touch runs; sleep 3600' })
    const killed = house.start(['send', 'a', 'hi'])
    await waitFor(() => house.read('runs') !== undefined, 'the program')
    await killed.kill()
    await house.ok('resume', 'a')
    const [first, second] = house.told()
    expect(second?.session).toBe(first?.session)
    expect([house.inspections(), house.count(id, 'run.interrupted')]).toEqual([1, 1])
  })

  test('is not read if the reply is recorded, or while the run waits', async () => {
    const house = new NativeHouse()
    await begun(house, { launch: 'true' }, DONE)
    house.write('hangs at its end', '')
    const id = (await house.ok('show', 'a', '--json')).json.agent.id
    const killed = house.start(['send', 'a', 'hi', '--key', 'k'])
    await house.waitForRecord(id, 'message.agent')
    await killed.kill()
    expect(await house.ok('send', 'a', 'hi', '--key', 'k')).toMatchObject({ stdout: 'installed\n' })
    const other = new NativeHouse()
    other.turns([{ launch: 'true' }, ASKING])
    await other.spawn('a', '--provider', 'native')
    expect((await other.run(['send', 'a', 'hi'])).exit).toBe(5)
    expect((await other.run(['recover', '--all'])).exit).toBe(5)
    expect([house.inspections(), other.inspections()]).toEqual([0, 0])
  })
})

test("a program gets substrat's tools if it may use any", async () => {
  const house = new NativeHouse()
  house.turns([{ tools: true }], [{ tools: true }])
  await house.spawn('a', '--provider', 'native', '--allow', 'tree')
  const { stdout } = await house.ok('send', 'a', 'hi')
  expect(stdout).toMatch(/^substrat: .*spawn_agent.*\n$/)
  expect(stdout).toContain('send_message')
  await house.spawn('b', '--provider', 'native', '--allow', 'shell')
  expect((await house.ok('send', 'b', 'hi')).stdout).toBe('none\n')
})
