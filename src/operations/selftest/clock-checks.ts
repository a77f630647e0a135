/** The clocks: stored times come from the wall clock, waits and time limits from the monotonic one. */
import { clock } from '../../clock.js'
import { uptimeMs } from '../../host/identity.js'
import { check, doesNotHold, holds } from '../../host/selftest/check.js'
import type { SelftestCheck } from '../../schema/output-home.js'

export interface Reading {
  wallMs: number
  monotonicMs: number
  uptimeMs: number
}

/** The uptime has steps of 10 ms, and a busy machine stops a process between two reads. */
const APART_MS_MAX = 1000

const READS = 2000

/** Many reads in a row, of which the clocks may go back in between. */
export function readClocks(): Reading[] {
  return Array.from({ length: READS }, () => ({
    wallMs: clock.now(),
    monotonicMs: clock.monotonic(),
    uptimeMs: Number.NaN,
  })).concat({ wallMs: clock.now(), monotonicMs: clock.monotonic(), uptimeMs: uptimeMs() })
}

export function clockChecks(readings: Reading[]): Promise<SelftestCheck> {
  return check('the clocks agree', () => {
    const backMs = (name: 'wallMs' | 'monotonicMs'): number =>
      readings
        .slice(1)
        .reduce((most, each, index) => Math.max(most, (readings[index] as Reading)[name] - each[name]), 0)
    if (backMs('monotonicMs') > 0)
      return doesNotHold(
        `the monotonic clock went back by ${backMs('monotonicMs')} ms`,
        'update the kernel or the hypervisor',
      )
    if (backMs('wallMs') > 0)
      return doesNotHold(
        `the wall clock went back by ${Math.round(backMs('wallMs'))} ms`,
        'let NTP slew the clock instead of setting it; substrat keeps the order of its records in any case',
      )
    const whole = readings.filter((each) => !Number.isNaN(each.uptimeMs))
    const [first, last] = [whole[0] as Reading, whole.at(-1) as Reading]
    const wallMs = last.wallMs - first.wallMs
    const apartMs = Math.round(
      Math.max(
        Math.abs(wallMs - (last.uptimeMs - first.uptimeMs)),
        Math.abs(wallMs - (last.monotonicMs - first.monotonicMs)),
      ),
    )
    if (apartMs > APART_MS_MAX)
      return doesNotHold(
        `in ${Math.round(wallMs / 1000)} s of the wall clock, they went ${apartMs} ms apart`,
        'repeat it: the clock was set or the machine slept; if it happens again, check NTP and the hypervisor',
      )
    return holds(
      `${apartMs} ms apart after ${(wallMs / 1000).toFixed(1)} s; no step back in ${readings.length} reads`,
    )
  })
}
