import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { parked } from '../support/parked.js'

async function interrupted(house: House): Promise<string> {
  const id = await house.spawn('a', '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
  const sender = house.start(['send', 'a', 'one'])
  await house.waitForRecord(id, 'model.requested')
  await sender.kill()
  house.scenario('s.json', { say: 'late' })
  return id
}

const NOTHING = 'substrat: a has no turn to continue\n'

describe.concurrent('resume', () => {
  test('continues the interrupted turn and prints its reply', async () => {
    const house = new House()
    const id = await interrupted(house)
    expect(await house.run(['resume', 'a'])).toMatchObject({ exit: 0, stdout: 'late\n' })
    expect(house.records(id).find(({ kind }) => kind === 'run.resumed')).toMatchObject({ auto: false })
    expect(house.findings(true)).toEqual([])
  })

  test('says on stderr that a hold is lifted, or that there is no turn to continue', async () => {
    const house = new House()
    await house.spawn('a')
    const nothing = { stdout: '', stderr: NOTHING }
    expect(await house.ok('resume', 'a')).toMatchObject(nothing)
    await house.ok('suspend', 'a', '--hold')
    const lifted = { stdout: '', stderr: 'substrat: a is no longer on hold\n' }
    expect(await house.ok('resume', 'a')).toMatchObject(lifted)
    expect(await house.ok('resume', 'a')).toMatchObject(nothing)
  })

  test('prints with --json the object of send, with run null if no turn was interrupted', async () => {
    const house = new House()
    await interrupted(house)
    const resumed = await house.run(['resume', 'a', '--json'])
    expect(resumed.json).toMatchObject({ run: { status: 'completed' }, reply: 'late', wait: null })
    const nothing = await house.run(['resume', 'a', '--json'])
    expect(nothing).toMatchObject({ exit: 0, stderr: NOTHING })
    expect(nothing.json).toStrictEqual({ agent: resumed.json.agent, run: null, reply: null, wait: null })
    expect(await house.run(['resume', 'a'])).toMatchObject({ exit: 0, stdout: '', stderr: NOTHING })
  })

  test('continues the interrupted turn of an agent that recovery only marked', async () => {
    const house = new House()
    const id = await interrupted(house)
    expect((await house.run(['recover', 'a', '--continue', 'none'])).exit).toBe(6)
    expect((await house.run(['resume', 'a'])).stdout).toBe('late\n')
    const runs = house.records(id).filter(({ kind }) => kind === 'run.started')
    expect(runs).toMatchObject([{ origin: 'operator' }, { origin: 'continuation', auto: false }])
    expect(house.count(id, 'message.user')).toBe(1)
  })

  test('needs a provider only if there is work', async () => {
    const house = new House()
    const file = house.scenario('s.json', { say: 'done' })
    await house.spawn('a', '--option', file)
    house.write('s.json', 'not JSON')
    expect(await house.run(['resume', 'a'])).toMatchObject({ exit: 0, stderr: NOTHING })
    await house.ok('send', 'a', '--queue', '--no-drain', 'later')
    expect((await house.run(['resume', 'a'])).exit).toBe(8)
  })

  test('says what a waiting agent waits for, also if its provider cannot be used', async () => {
    const house = new House()
    await parked(house)
    house.write('s.json', 'not JSON')
    const resumed = await house.run(['resume', 'a'])
    expect(resumed.exit).toBe(5)
    expect(resumed.stderr).toContain('is waiting for approval until')
  })

  test('prints with --stream the records of the turn', async () => {
    const house = new House()
    await interrupted(house)
    const { stdout } = await house.run(['resume', 'a', '--stream'])
    const kinds = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).kind)
    expect(kinds[0]).toBe('run.resumed')
    expect(kinds).toContain('run.completed')
  })
})
