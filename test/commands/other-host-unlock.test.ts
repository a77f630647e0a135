/** `unlock` on a network file system that two hosts share: the lock of another host's process is broken only with --force. */
import { existsSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { Host, hasHosts } from '../support/hosts.js'

const PRELOAD = pathToFileURL(join(import.meta.dirname, '../support/network-file-system.mjs')).href
const LOCKED = { exit: 4, json: { error: { code: 'LOCKED' } } }

function shared(): { house: House; a: Host; b: Host } {
  const house = House.ofProcesses({ NODE_OPTIONS: `--import=${PRELOAD}` })
  return { house, a: new Host(house, 'web-1'), b: new Host(house, 'web-2') }
}

describe.skipIf(!hasHosts)('with two hosts over one network file system (needs unshare -m)', () => {
  test('a lock whose holder is alive on another host is named and kept; on its own host not even --force breaks it', async () => {
    const { house, a, b } = shared()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('bot', ...gate.flags)
    const sender = a.start('send', 'bot', 'one')
    await gate.isReached()
    const directory = house.agentFile(id, 'lock.d')
    const refused = await b.run('unlock', 'bot', '--json')
    expect(refused, refused.stderr).toMatchObject(LOCKED)
    const { message, hint } = refused.json.error
    expect(message).toMatch(/lock\.d is still in use by substrat send, pid \d+ on web-1$/)
    expect(hint).toBe('wait for it; if you know that it is dead, repeat the command with --force')
    const own = await a.run('unlock', 'bot', '--force', '--json')
    expect(own, own.stderr).toMatchObject(LOCKED)
    expect(own.json.error.hint).toBe('that process runs on this machine: wait for it, or end it')
    expect(existsSync(directory)).toBe(true)
    gate.open()
    expect(await sender.result).toMatchObject({ exit: 0, stdout: 'done: one\n' })
    expect(existsSync(directory)).toBe(false)
  })

  test('after its holder died on another host the lock needs --force, and the agent then runs', async () => {
    const { house, a, b } = shared()
    const option = house.scenario('s.json', { delay_ms: 3_600_000 }, { say: 'ready' })
    const id = await house.spawn('bot', '--option', option)
    const sender = a.start('send', 'bot', 'one', '--key', 'k')
    await house.waitForRecord(id, 'model.requested')
    await sender.kill()
    const directory = house.agentFile(id, 'lock.d')
    expect(existsSync(directory)).toBe(true)
    expect((await b.run('send', 'bot', 'two', '--timeout', '0s', '--json')).json.error.code).toBe('LOCKED')
    // Touched as late as a living holder would, however slow this machine is.
    const soon = new Date(Date.now() + 3_600_000)
    utimesSync(directory, soon, soon)
    const refused = await b.run('unlock', 'bot', '--json')
    expect(refused, refused.stderr).toMatchObject(LOCKED)
    const broken = await b.run('unlock', 'bot', '--force', '--json')
    expect(broken, broken.stderr).toMatchObject({ exit: 0, json: { unlocked: [directory] } })
    house.scenario('s.json', { say: 'ready' })
    // The turn of the dead process has no program, so this host continues it at once.
    const again = await b.run('send', 'bot', 'one', '--key', 'k')
    expect(again, again.stderr).toMatchObject({ exit: 0, stdout: 'ready\n' })
    expect(house.count(id, 'message.user')).toBe(1)
  })
})
