import { afterEach, describe, expect, test } from 'vitest'
import { clock } from '../../src/clock.js'
import { ownIdentity } from '../../src/host/identity.js'
import { placeOf } from '../../src/host/whereabouts.js'
import { setHostId } from '../support/this-host.js'

const { now, uptime } = clock
afterEach(() => {
  clock.now = now
  if (uptime === undefined) delete clock.uptime
  else clock.uptime = uptime
})

const [OURS, THEIRS] = ['a'.repeat(32), 'b'.repeat(32)]
const HERE = ownIdentity().kernel_boot_id
const OTHER_BOOT = 'another-boot'

describe('a recorded process', () => {
  test.each([
    ['of this kernel is here', HERE, OURS, 'here'],
    ['of this kernel is here with any machine-id, as in a container', HERE, THEIRS, 'here'],
    ['of another boot of this machine is gone', OTHER_BOOT, OURS, 'past'],
    ['of another machine is elsewhere', OTHER_BOOT, THEIRS, 'elsewhere'],
    ['of an unknown machine counts as one of this machine', OTHER_BOOT, undefined, 'past'],
  ])('%s', (_, kernel_boot_id, host_id, place) => {
    setHostId(OURS)
    expect(placeOf({ kernel_boot_id, host_id })).toBe(place)
  })

  test('of any machine counts as one of this machine if this one is unknown', () => {
    setHostId(undefined)
    expect(placeOf({ kernel_boot_id: OTHER_BOOT, host_id: THEIRS })).toBe('past')
  })

  test.each([
    ['before this boot is gone', -3_600_000, 'past'],
    ['within the seconds of a restart is gone', 1000, 'past'],
    ['since this boot is on a clone', 600_000, 'elsewhere'],
    ['in the future is gone, because the clock was set back', 10_000_000, 'past'],
  ])('of another boot of this machine, last seen %s', (_, sinceBootMs, place) => {
    setHostId(OURS)
    const [at, upMs] = [Date.parse('2026-11-20T10:00:00.000Z'), 3_600_000]
    clock.now = () => at
    clock.uptime = () => upMs
    const seenAt = new Date(at - upMs + sinceBootMs).toISOString()
    expect(placeOf({ kernel_boot_id: OTHER_BOOT, host_id: OURS }, seenAt)).toBe(place)
  })
})
