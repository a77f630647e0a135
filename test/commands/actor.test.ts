/** The actors of messages and decisions, as people read them. */
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'

const CALL = { tools: [{ name: 'shell', input: { command: 'echo "[$SUBSTRAT_ACTOR]"' } }] }

test('the log and show name who asked and who decided, and a claim stays a claim', async () => {
  const house = new House()
  const id = await house.spawn('a', '-o', house.scenario('s.json', CALL, { say: 'ok' }))
  await house.run(['send', 'a', 'go'])
  await house.run(['approve', 'a'], { env: { SUBSTRAT_ACTOR: 'token phone' } })
  const [consumed] = house.records(id).filter(({ kind }) => kind === 'token.consumed')
  expect(consumed).toMatchObject({
    actor: { uid: process.getuid?.(), face: 'cli', claims: { name: 'token phone' } },
  })
  expect(consumed).not.toHaveProperty('actor.token')
  const { stdout } = await house.ok('log', 'a')
  expect(stdout).toMatch(/ {2}you: go$/m)
  expect(stdout).toMatch(/decided: approve by \S+ \(claims to be "token phone"\) \(token /)
  // A tool does not act for the person.
  expect(stdout).toContain('shell: []')
  expect((await house.ok('show', 'a')).stdout).toMatch(
    /^who acted +approved by \S+ \(claims to be "token phone"\), /m,
  )
  expect((await house.ok('show', 'a', '--json')).json.acts).toMatchObject([
    { did: 'approved' },
    { did: 'asked', actor: { face: 'cli' } },
    { did: 'created' },
  ])
})

test('the second of two people learns who was first, with and without the token', async () => {
  const house = new House()
  await house.spawn('a', '-o', house.scenario('s.json', CALL, { say: 'ok' }))
  const { json } = await house.run(['send', 'a', 'go', '--json'])
  const { token, token_id } = json.wait
  await house.run(['approve', 'a'], { env: { SUBSTRAT_ACTOR: 'Ana' } })
  const by = /: it was approved by \S+ \(claims to be "Ana"\) at /
  expect(await house.run(['deny', 'a'])).toMatchObject({ exit: 13, stderr: expect.stringMatching(by) })
  expect(await house.run(['deny', 'a', token_id])).toMatchObject({
    exit: 13,
    stderr: expect.stringMatching(by),
  })
  expect(await house.run(['resume', 'a', '--token', token, '--deny'])).toMatchObject({ exit: 13 })
})

test('gate, hold, settings and cancel name their actor', async () => {
  const house = new House()
  const id = await house.spawn('a', '-o', house.scenario('s.json', CALL, { say: 'ok' }))
  const env = { SUBSTRAT_ACTOR: 'Ana' }
  await house.run(['gate', 'a'], { env })
  await house.run(['ungate', 'a'], { env })
  await house.run(['set', 'a', '--title', 'x'], { env })
  await house.run(['send', 'a', 'go'], { env })
  await house.run(['suspend', 'a', '--hold'], { env })
  await house.run(['cancel', 'a'], { env })
  await house.run(['terminate', 'a'], { env })
  const acted = house
    .records(id)
    .filter((record) => 'actor' in record && record.actor?.claims?.name === 'Ana')
    .map(({ kind }) => kind)
  expect(acted).toEqual([
    'agent.gated',
    'agent.ungated',
    'session.configured',
    'message.user',
    'session.configured',
    'run.cancelled',
    'session.terminated',
  ])
})

test('a pending message keeps its writer', async () => {
  const house = new House()
  const id = await house.spawn('a')
  await house.ok('suspend', 'a', '--hold')
  await house.run(['send', 'a', '--queue', 'later'], { env: { SUBSTRAT_ACTOR: 'Ana' } })
  expect((await house.ok('inbox', 'a')).stdout).toMatch(/^request \w+ from \S+ \(claims to be "Ana"\), /)
  await house.ok('resume', 'a')
  const [mail] = house.records(id).filter(({ kind }) => kind === 'mail.delivered')
  expect(mail).toMatchObject({ actor: { face: 'cli', claims: { name: 'Ana' } } })
  expect((await house.ok('log', 'a')).stdout).toMatch(/ \(claims to be "Ana"\): later$/m)
})
