/** `suspend` and `terminate` of an agent whose turn runs in another process; signals to that process. */
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House, type Running } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { processesWith } from '../support/processes.js'

describe.concurrent('suspend', () => {
  test('asks the turn of another process to stop: its sender exits 6, and resume continues it', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'one', '--json'])
    await gate.isReached()
    const suspended = await house.run(['suspend', 'a', '--json'])
    expect(suspended.exit).toBe(0)
    expect(suspended.json).toMatchObject({ agent: { state: 'suspended', status: 'idle' } })
    const sent = await sender.result
    expect(sent.exit).toBe(6)
    expect(sent.json).toMatchObject({ run: { status: 'interrupted' }, reply: null, wait: null })
    expect(sent.stderr.trim().split('\n')).toEqual([
      'substrat: the turn of a was interrupted: another command suspended it (continue it: substrat resume a)',
    ])
    expect(house.kinds(id).slice(-3)).toEqual(['run.interrupted', 'session.suspended', 'status.derived'])
    expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
    const shown = await house.ok('show', 'a')
    expect(shown.stdout).toMatch(/^reason +another command suspended it$/m)
    expect(shown.stdout).toMatch(/^next +substrat resume a$/m)
    // A turn that a person suspended does not continue by itself.
    expect((await house.run(['recover', 'a'])).exit).toBe(0)
    expect(house.count(id, 'run.started')).toBe(1)
    gate.open()
    const resumed = await house.ok('resume', 'a')
    expect(resumed.stdout).toMatch(/^done: Your previous turn was interrupted/)
    expect(readdirSync(house.agentFile(id, 'requests'))).toEqual([])
    expect(house.findings(true)).toEqual([])
  })

  test('says what it has done: suspended a turn, put the agent on hold, or nothing', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    expect((await house.ok('suspend', 'a')).stdout).toBe('a has no running turn\n')
    const sender = house.start(['send', 'a', 'one'])
    await gate.isReached()
    const asked = await house.run(['suspend', 'a'], { env: { SUBSTRAT_ACTOR: 'Ana' } })
    expect(asked.stdout).toBe('a is suspended\n')
    await sender.result
    // The process of the turn has recorded who asked it to stop.
    const [interrupted] = house.records(id).filter(({ kind }) => kind === 'run.interrupted')
    expect(interrupted).toMatchObject({ actor: { face: 'cli', claims: { name: 'Ana' } } })
    expect((await house.ok('suspend', 'a', '--hold')).stdout).toBe('a is suspended, on hold\n')
    gate.open()
    await house.ok('resume', 'a')
    expect((await house.ok('suspend', 'a', '--hold')).stdout).toBe('a is on hold\n')
    expect((await house.ok('suspend', 'a')).stdout).toBe('a is on hold\n')
  })

  test('records once that an idle agent is suspended, and changes nothing the second time', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('suspend', 'a')
    const log = house.log(id)
    expect((await house.ok('suspend', 'a')).stdout).toBe('a has no running turn\n')
    expect(house.log(id)).toBe(log)
    expect((await house.run(['send', 'a', 'hello'])).stdout).toBe('echo: hello\n')
  })

  test('gives up after --timeout if the turn does not stop', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    await house.spawn('a', '--provider', 'exec', '--option', `command=trap '' TERM; ${gate.command}`)
    const sender = house.start(['send', 'a', 'one'])
    await gate.isReached()
    sender.child.kill('SIGSTOP')
    const suspended = await house.run(['suspend', 'a', '--timeout', '100ms'])
    expect(suspended).toMatchObject({ exit: 4, stdout: '' })
    expect(suspended.stderr).toMatch(
      /agent a is busy: .*; it was asked to stop and will stop as soon as it can/,
    )
    sender.child.kill('SIGCONT')
    // The request still stands: a program that ignores SIGTERM is killed after its grace.
    expect((await sender.result).exit).toBe(6)
  })
})

describe.concurrent('an agent on hold', () => {
  test('refuses messages with 13, queues them where that is asked, and delivers them on resume', async () => {
    const house = new House()
    const id = await house.spawn('a')
    expect((await house.ok('suspend', 'a', '--hold')).stdout).toBe('a is on hold\n')
    const refused = await house.run(['send', 'a', 'one', '--json'])
    expect(refused.exit).toBe(13)
    expect(refused.json).toStrictEqual({
      error: { code: 'ON_HOLD', message: expect.any(String), hint: expect.any(String), agent_id: id },
    })
    expect(refused.json.error.hint).toContain('substrat resume a')
    const queued = await house.ok('send', 'a', 'two', '--if-busy', 'queue')
    expect(queued.stderr).toContain('will run it once you resume it')
    await house.ok('send', 'a', 'three', '--if-busy', 'queue')
    expect((await house.ok('show', 'a')).stdout).toMatch(/^status +held$/m)
    expect((await house.run(['recover', '--all'])).exit).toBe(0)
    expect(house.inbox(id)).toHaveLength(2)
    await house.ok('resume', 'a')
    const delivered = house
      .records(id)
      .flatMap((record) => (record.kind === 'mail.delivered' ? [record.content] : []))
    expect(delivered).toEqual(['two', 'three'])
    expect((await house.ok('show', 'a', '--reply')).stdout).toBe('echo: three\n')
    expect(house.findings(true)).toEqual([])
  })

  test('keeps its interrupted turn for resume', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'one'])
    await gate.isReached()
    await house.ok('suspend', 'a', '--hold')
    expect((await sender.result).exit).toBe(6)
    gate.open()
    expect((await house.ok('resume', 'a')).stdout).toMatch(/^done: /)
    expect(house.count(id, 'run.completed')).toBe(1)
    expect((await house.ok('show', 'a', '--json')).json.hold).toBe(false)
  })
})

describe.concurrent('terminate', () => {
  test('stops a running turn, whose sender exits 14, and frees the name', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'one', '--json'])
    await gate.isReached()
    await house.ok('send', 'a', 'two', '--if-busy', 'queue')
    const terminated = await house.ok('terminate', 'a')
    expect(terminated.stdout).toBe('a is terminated\n')
    const sent = await sender.result
    expect(sent.exit).toBe(14)
    expect(sent.json.error.code).toBe('CANCELLED')
    expect(house.kinds(id).slice(-4)).toEqual([
      'run.cancelled',
      'session.suspended',
      'status.derived',
      'session.terminated',
    ])
    expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
    for (const command of ['send', 'resume', 'suspend', 'set']) {
      const args = command === 'send' ? ['hello'] : command === 'set' ? ['--title', 'x'] : []
      const refused = await house.run([command, id, ...args])
      expect(refused.exit, command).toBe(13)
      expect(refused.stderr).toContain('a is terminated')
    }
    expect((await house.ok('terminate', id)).stdout).toBe('a is terminated\n')
    const second = await house.spawn('a')
    expect(second).not.toBe(id)
    expect((await house.ok('show', 'a', '--json')).json.agent.id).toBe(second)
    expect(house.findings(true)).toEqual([])
  })
})

describe.concurrent('a signal in mid-turn', () => {
  const signals: [NodeJS.Signals, number][] = [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ]

  test.each(signals)('%s lets the turn finish, prints its reply and exits 0', async (signal) => {
    const { house, id, gate, sender } = await standing()
    sender.child.kill(signal)
    await sender.says(`${signal}: letting the turn finish, for up to 86400 s; send it again to stop now`)
    gate.open()
    expect(await sender.result).toMatchObject({ exit: 0, stdout: 'done: one\n' })
    expect(house.kinds(id).slice(-3)).toEqual(['run.completed', 'session.suspended', 'status.derived'])
  })

  test.each(signals)(
    '%s twice interrupts it; a later command continues it; exit %i',
    async (signal, exit) => {
      const { house, id, gate, sender } = await standing('--json')
      sender.child.kill(signal)
      await sender.says('again to stop now')
      sender.child.kill(signal)
      const sent = await sender.result
      expect(sent.exit).toBe(exit)
      expect(sent.json.error).toMatchObject({
        code: `STOPPED_${signal}`,
        hint: 'continue it: substrat resume a',
      })
      expect(house.records(id).at(-3)).toMatchObject({ kind: 'run.interrupted', reason: 'shutdown' })
      expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
      expect((await house.ok('list', '--json')).json.agents[0].status).toBe('interrupted_startup')
      gate.open()
      expect((await house.run(['recover', '--all'])).exit).toBe(0)
      expect(house.count(id, 'run.completed')).toBe(1)
      expect(house.findings(true)).toEqual([])
    },
  )

  test('past the grace period stops the turn by itself', async () => {
    const { house, id, sender } = await standingIn(new House({ SUBSTRAT_SHUTDOWN_GRACE: '200ms' }), [])
    sender.child.kill('SIGTERM')
    expect((await sender.result).exit).toBe(143)
    expect(house.records(id).at(-3)).toMatchObject({ kind: 'run.interrupted', reason: 'shutdown' })
    expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
  })

  test('starts no new turn: queued mail stays pending, and the marker stays', async () => {
    const { house, id, gate, sender } = await standing()
    await house.ok('send', 'a', 'two', '--if-busy', 'queue')
    sender.child.kill('SIGTERM')
    await sender.says('letting the turn finish')
    gate.open()
    expect((await sender.result).exit).toBe(0)
    expect(house.inbox(id)).toHaveLength(1)
    expect(readdirSync(`${house.home}/unclean`)).toEqual([id])
    gate.open()
    await house.ok('recover', '--all')
    expect(house.inbox(id)).toEqual([])
    expect(readdirSync(`${house.home}/unclean`)).toEqual([])
  })

  test('while it finishes an earlier turn: its own message is not taken, and it says so', async () => {
    const { house, id, gate, sender } = await standing()
    await sender.kill()
    const next = house.start(['send', 'a', 'two'])
    await house.waitForRecord(id, 'provider.started', 2)
    next.child.kill('SIGTERM')
    await next.says('letting the turn finish')
    gate.open()
    const sent = await next.result
    expect(sent).toMatchObject({ exit: 143, stdout: '' })
    expect(sent.stderr).toContain(
      'stopped by SIGTERM before the message was delivered; the message was not stored',
    )
    expect(house.log(id)).not.toContain('"two"')
    expect(house.findings(true)).toEqual([])
  })
})

describe('a message that a signal keeps from its turn', () => {
  test('is still queued if its key was queued before, and following the advice runs it once', async () => {
    const { house, id, gate, sender } = await standing()
    await sender.kill()
    await house.ok('send', 'a', 'two', '--key', 'k', '--queue', '--no-drain')
    const next = house.start(['send', 'a', 'two', '--key', 'k'])
    await house.waitForRecord(id, 'provider.started', 2)
    next.child.kill('SIGTERM')
    await next.says('letting the turn finish')
    gate.open()
    expect((await next.result).stderr).toContain(
      'the message is still queued (deliver it: substrat deliver a)',
    )
    gate.open()
    await house.ok('deliver', 'a')
    expect(
      house.records(id).filter((record) => 'content' in record && record.content === 'two'),
    ).toHaveLength(1)
  })

  test('has its key in the advice, so that no other command runs it a second time', async () => {
    const { house, id, gate, sender } = await standing()
    await sender.kill()
    const next = house.start(['send', 'a', 'two', '--key', "it's k"])
    await house.waitForRecord(id, 'provider.started', 2)
    next.child.kill('SIGTERM')
    await next.says('letting the turn finish')
    gate.open()
    expect((await next.result).stderr).toContain(
      `the message was not stored (send it again: substrat send a --key 'it'\\''s k' '…')`,
    )
  })
})

describe('a recovery that is stopped by a signal', () => {
  test('finishes the current turn and starts no other', async () => {
    const house = new House()
    const gates = ['a', 'b'].map((name) => new Gate(house, name))
    const ids: string[] = []
    for (const [index, name] of ['a', 'b'].entries()) {
      const id = await house.spawn(name, ...(gates[index] as Gate).flags)
      ids.push(id)
      const sender = house.start(['send', name, 'one'])
      await house.waitForRecord(id, 'provider.started')
      sender.child.kill('SIGKILL')
      await sender.result
    }
    const recovery = house.start(['recover', 'a', 'b'], { env: { SUBSTRAT_SLOTS_MAX: '1' } })
    await house.waitForRecord(ids[0] as string, 'provider.started', 2)
    recovery.child.kill('SIGTERM')
    await recovery.says('letting the turn finish')
    gates[0]?.open()
    const recovered = await recovery.result
    expect(recovered.exit).toBe(6)
    expect(recovered.stderr.match(/continuing the/g)).toHaveLength(1)
    expect((await house.ok('list', '--status', 'interrupted_startup')).stdout).toContain('b ')
    // Only now, because the program of the sender that was killed waited there too.
    gates[1]?.open()
    expect((await house.ok('recover', '--all')).stdout).toMatch(/^b .*continued, completed/m)
    expect(house.findings(true)).toEqual([])
  })
})

describe.concurrent('mail that is pending behind a turn', () => {
  test('is not taken by a sender whose turn was suspended', async () => {
    const { house, id, gate, sender } = await standing()
    await house.ok('send', 'a', 'two', '--if-busy', 'queue')
    await house.ok('suspend', 'a')
    expect((await sender.result).exit).toBe(6)
    expect(house.count(id, 'run.started')).toBe(1)
    expect(house.inbox(id)).toHaveLength(1)
    gate.open()
    gate.open()
    await house.ok('resume', 'a')
    expect(house.inbox(id)).toEqual([])
  })

  test('is not taken by a sender whose agent is being terminated', async () => {
    const { house, id, sender } = await standing()
    await house.ok('send', 'a', 'two', '--if-busy', 'queue')
    await house.ok('terminate', 'a')
    expect((await sender.result).exit).toBe(14)
    expect(house.count(id, 'run.started')).toBe(1)
    // It is answered by an error, and gone.
    expect(house.inbox(id)).toEqual([])
    expect(house.operatorMail()).toEqual([
      expect.objectContaining({
        kind: 'error',
        from: id,
        content: 'a was terminated before it received this request: two',
      }),
    ])
  })

  test('is not taken by a spawn, a resume or a recovery whose turn was suspended', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const spawner = house.start(['spawn', 'one', '--name', 'a', ...gate.flags])
    await gate.isReached()
    await house.ok('send', 'a', 'two', '--if-busy', 'queue')
    await house.ok('suspend', 'a')
    const { exit, stderr } = await spawner.result
    expect(exit).toBe(6)
    const id = stderr.slice(0, 36)
    for (const runs of [2, 3]) {
      const resumer = house.start(['resume', 'a'])
      await house.waitForRecord(id, 'provider.started', runs)
      if (runs === 2) await house.ok('suspend', 'a')
      else {
        resumer.child.kill('SIGKILL')
        await resumer.result
      }
      expect((await resumer.result).exit).not.toBe(0)
      expect(house.inbox(id)).toHaveLength(1)
    }
    const recovery = house.start(['recover', 'a'])
    await house.waitForRecord(id, 'provider.started', 4)
    await house.ok('suspend', 'a')
    expect((await recovery.result).exit).toBe(6)
    expect(house.inbox(id)).toHaveLength(1)
    expect(house.findings(true)).toEqual([])
  })

  test('changes nothing of the exit status of a sender whose own turn went well', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const command = `{ ${gate.command}; } > reply; grep -q two reply && exit 3; cat reply`
    const id = await house.spawn('a', '--provider', 'exec', '--option', `command=${command}`)
    const sender = house.start(['send', 'a', 'one'])
    await gate.isReached()
    await house.ok('send', 'a', 'two', '--if-busy', 'queue')
    gate.open()
    gate.open()
    const sent = await sender.result
    expect(sent).toMatchObject({ exit: 0, stdout: 'done: one\n' })
    expect(sent.stderr).toContain('the turn of a failed: the command exited 3')
    expect(house.kinds(id)).toContain('run.failed')
  })
})

describe.concurrent('a reader that goes away', () => {
  test.each(['stdout', 'stderr'] as const)('a closed %s does not stop the turn', async (stream) => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'one', '--stream'], { [stream]: 'closed' })
    await gate.isReached()
    // With stderr closed too, what it says of the signal meets a closed pipe in mid-turn.
    if (stream === 'stderr') sender.child.kill('SIGTERM')
    gate.open()
    expect((await sender.result).exit).toBe(0)
    expect(house.kinds(id).slice(-3)).toEqual(['run.completed', 'session.suspended', 'status.derived'])
    expect(house.findings(true)).toEqual([])
  })

  test('a full stdout is exit 11, and the reply is stored', async () => {
    const house = new House()
    await house.spawn('a')
    const sender = house.launch([
      'sh',
      '-c',
      `exec "$@" > /dev/full`,
      'sh',
      ...house.command('send', 'a', 'one'),
    ])
    const sent = await sender.result
    expect(sent.exit).toBe(11)
    expect(sent.stderr).toMatch(/^substrat: cannot write the result to stdout: ENOSPC \(.*\)\n$/)
    expect((await house.ok('show', 'a', '--reply')).stdout).toBe('echo: one\n')
  })
})

interface Standing {
  house: House
  id: string
  gate: Gate
  sender: Running
}

/** A sender in the middle of its turn. */
async function standing(...flags: string[]): Promise<Standing> {
  // A grace that was waited for would be seen.
  return standingIn(new House({ SUBSTRAT_SHUTDOWN_GRACE: '1d' }), flags)
}

async function standingIn(house: House, flags: string[]): Promise<Standing> {
  const gate = new Gate(house, 'g')
  const id = await house.spawn('a', ...gate.flags)
  const sender = house.start(['send', 'a', 'one', ...flags])
  await gate.isReached()
  return { house, id, gate, sender }
}
