/** A sample of `npm run stress:effects`: each call reaches a service with a unique key once, whenever substrat dies. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PaymentService } from '../../stress/effects/payment.js'
import { MODES, payThroughKills, prepare } from '../../stress/effects/trial.js'
import { whyNoStrace } from '../../stress/kill/strace.js'
import { Lab, repository } from '../../stress/support/lab.js'

let lab: Lab
let service: PaymentService
beforeAll(async () => {
  lab = Lab.open()
  await lab.warm()
  service = await PaymentService.start(`${lab.root}/payments.db`, repository)
})
afterAll(() => {
  service.stop()
  lab.close()
})

describe.skipIf(whyNoStrace() !== undefined)('a tool that charges a payment service', () => {
  test.each(MODES)('is charged once for each call, with the rule %s', async (mode) => {
    const prepared = await prepare(lab, service, mode)
    let kills = 0
    for (const n of [3, 4, 5]) {
      const trial = await payThroughKills(lab, service, prepared, [{ syscall: 'fdatasync', n }])
      expect(trial.violations).toEqual([])
      kills += trial.kills
    }
    expect(kills).toBeGreaterThan(0)
  })
})
