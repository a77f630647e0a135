/** After a turn, stderr, `show`, its JSON and a notification name the same next step. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

const DELAY_MS = 3_600_000

interface Faces {
  hint: string
  advice: string
  next: string
  row: string
  texts: string[]
}

async function facesAfter(
  house: House,
  id: string,
  agent: string,
  args: string[],
  on: string,
): Promise<Faces> {
  // Port 1 refuses each request, so what is to be sent stays in the log.
  const url = 'http://127.0.0.1:1/'
  await house.ok('config', 'set', 'notify', JSON.stringify([{ name: 'me', on: [on], url }]))
  const sent = await house.run(args)
  const hint = sent.stderr.trimEnd().replace(/^[\s\S]* \((.+)\)$/, '$1')
  const { next, advice } = (await house.ok('show', agent, '--json')).json
  const shown = (await house.ok('show', agent)).stdout
  const row = shown.match(/^next +(.+)$/m)?.[1] ?? ''
  const texts = house
    .records(id)
    .flatMap((record) => (record.kind === 'outbound.queued' ? [record.content as string] : []))
  return { hint, advice, next, row, texts }
}

describe.concurrent.each([
  ['misconfigured', 'change the setting: substrat set night --option NAME=VALUE; then: substrat retry night'],
  ['authentication', 'log in, or set the API key, then: substrat retry night'],
  ['refused', "ask in other words: substrat send night '…'"],
])('a turn that failed as %s', (type, step) => {
  test.each([[[]], [['--key', 'k']]])('has one next step on all faces (%j)', async (key) => {
    const house = new House()
    const option = house.scenario('s.json', { fail: { type, attempts: 9 } })
    const id = await house.spawn('night', '--option', option)
    const faces = await facesAfter(house, id, 'night', ['send', 'night', ...key, 'Go'], 'failed')
    expect(faces).toMatchObject({ hint: step, advice: step, row: step })
    expect(step.endsWith(`: ${faces.next}`)).toBe(true)
    expect(faces.texts.map((text) => text.split('\n').at(-1))).toEqual([step])
  })
})

describe.concurrent('the next step', () => {
  test('a turn that waits for a rate limit has the step to wait until then, on all faces', async () => {
    const house = new House()
    const fail = { type: 'rate_limit', retry_after_ms: DELAY_MS, attempts: 9 }
    const id = await house.spawn('lim', '--option', house.scenario('s.json', { fail }))
    const faces = await facesAfter(house, id, 'lim', ['send', 'lim', 'Go'], 'limited')
    expect(faces.row).toMatch(/^wait until [-\d]+ [:\d]+\S+, then: substrat resume lim$/)
    expect(faces.hint).toBe(`${faces.row}, or substrat recover --all from cron`)
    expect(faces.texts.map((text) => text.split('\n').at(-1))).toEqual([faces.row])
    expect(faces.advice).toMatch(/^wait until \d{4}-\d\d-\d\dT[:\d]+Z, then: substrat resume lim$/)
  })

  test('a keyed turn that was cancelled has the step to retry it, also when the key is repeated', async () => {
    const house = new House()
    const option = house.scenario('s.json', { tools: [{ name: 'shell', input: { command: 'true' } }] })
    await house.spawn('fo', '--option', option)
    await house.run(['send', 'fo', '--key', 'k', 'Go'])
    await house.ok('cancel', 'fo')
    const step = 'see what it did: substrat log fo; to run it again: substrat retry fo'
    expect((await house.run(['send', 'fo', '--key', 'k', 'Go'])).stderr).toContain(`(${step})`)
    expect((await house.ok('show', 'fo')).stdout).toMatch(new RegExp(`^next +${step}$`, 'm'))
  })

  test('a keyed turn that a later turn followed has the step to send it again, because retry would repeat the later one', async () => {
    const house = new House()
    const option = house.scenario('s.json', { fail: { type: 'crashed', attempts: 9 } })
    await house.spawn('a', '--option', option)
    await house.run(['send', 'a', '--key', 'k', 'Go'])
    await house.run(['send', 'a', 'Other'])
    const again = await house.run(['send', 'a', '--key', 'k', 'Go'])
    expect(again.stderr).toContain('repeat the same substrat send and add --retry')
    expect(again.stderr).not.toContain('substrat retry')
  })

  test('an agent with only a later message has the step to wait, then to deliver it', async () => {
    const house = new House()
    await house.spawn('sch')
    await house.ok('send', 'sch', '--queue', '--not-before', '2h', 'Later')
    const { next, advice } = (await house.ok('show', 'sch', '--json')).json
    expect(next).toBe('substrat deliver sch')
    expect(advice).toMatch(/^wait until \d{4}-\d\d-\d\dT[:\d]+Z, then: substrat deliver sch$/)
  })
})
