/** Decisions about a waiting turn: by the operator, and by the holder of its resume token. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { clientOf, user } from './openai-client.js'
import { Served } from './support.js'

const WAIT = { prefer: 'wait' }
const SHELL = { tools: [{ name: 'shell', input: { command: 'echo hi > made' } }] }

describe.concurrent('a decision', () => {
  async function waiting(): Promise<{
    house: House
    served: Served
    id: string
    token: string
    tokenId: string
  }> {
    const house = new House()
    const id = await house.spawn('a', '-o', house.scenario('s.json', SHELL, { say: 'done' }))
    const { json } = await house.run(['send', 'a', 'hi', '--json'])
    return {
      house,
      served: await Served.start(house),
      id,
      token: json.wait.token,
      tokenId: json.wait.token_id,
    }
  }
  const path = { agent: 'a' }

  test('approves the calls, or denies them', async () => {
    const { house, served, tokenId } = await waiting()
    const foreign = { token_id: '00000000-0000-4000-8000-000000000000' }
    expect((await served.call('approveCalls', { path, body: foreign })).problem.code).toBe('TOKEN_NOT_FOUND')
    const approved = await served.call('approveCalls', { path, body: { token_id: tokenId }, headers: WAIT })
    expect(approved).toMatchObject({ status: 200, data: { reply: 'done' } })
    expect(house.read('made')).toBe('hi\n')
    await served.stop()
    const other = await waiting()
    const denied = await other.served.call('denyCalls', { path, body: { reason: 'no' }, headers: WAIT })
    expect(denied).toMatchObject({ status: 200, data: { reply: 'done' } })
    expect(other.house.read('made')).toBeUndefined()
    await other.served.stop()
  })

  test('records the token of the request, and what the client says of itself as a claim', async () => {
    const { house, served, id, tokenId } = await waiting()
    const headers = { ...WAIT, 'X-Substrat-Name': 'Ana', 'X-Substrat-Client': 'app 1' }
    await served.call('approveCalls', { path, body: { token_id: tokenId }, headers })
    const [made] = house.records(id).filter(({ kind }) => kind === 'token.consumed')
    expect(made).toMatchObject({
      actor: {
        uid: process.getuid?.(),
        face: 'http',
        token: 'operator',
        claims: { name: 'Ana', client: 'app 1' },
      },
    })
    const who = /was approved by token operator \(claims to be "Ana", use "app 1"\) at /
    expect((await house.run(['deny', 'a'])).stderr).toMatch(who)
    const late = await served.call('denyCalls', { path, body: { token_id: tokenId } })
    expect(late).toMatchObject({
      status: 409,
      problem: { code: 'SESSION_STATE', detail: expect.stringMatching(who) },
    })
    expect((await served.call('showAgent', { path })).data.acts[0]).toMatchObject({
      did: 'approved',
      actor: { token: 'operator' },
    })
    await served.stop()
  })

  test('records the holder of a resume token, and an OpenAI client, as such', async () => {
    const { house, served, id, token } = await waiting()
    await served.call('resumeAgent', { path, body: { decision: 'approve', token }, headers: WAIT })
    const { chat } = clientOf(served)
    await chat.completions.create({ model: 'a', messages: user('hi') })
    const actors = house.records(id).flatMap((record) => ('actor' in record ? [record.actor] : []))
    expect(actors.at(-1)).toMatchObject({ face: 'openai', token: 'operator' })
    await served.stop()
    const other = await waiting()
    const bearer = { ...WAIT, authorization: `Bearer ${other.token}` }
    await other.served.call('resumeAgent', { path, body: { decision: 'deny' }, headers: bearer })
    const [denied] = other.house.records(other.id).filter(({ kind }) => kind === 'token.consumed')
    expect(denied).toMatchObject({ actor: { face: 'http', token: 'resume token' } })
    await other.served.stop()
  })

  test('approves calls with other arguments, which it shows whole', async () => {
    const house = new House()
    const long = `echo ran >> ran # ${'x'.repeat(9000)}`
    const asks = { tools: [{ name: 'shell', input: { command: long } }] }
    const id = await house.spawn('a', '-o', house.scenario('s.json', asks, { say: 'done' }))
    await house.run(['send', 'a', 'go'])
    const served = await Served.start(house)
    const { data: pending } = await served.call('showPending', { path })
    expect(pending).toMatchObject({
      can_be_edited: true,
      calls: [{ tool: 'shell', input: { command: long } }],
    })
    const call_id = pending.calls[0]?.call_id as string
    const edits = [{ call_id, input: { command: 'echo edited >> ran' } }]
    const token_id = pending.token_id as string
    const untied = await served.call('approveCalls', { path, body: { edits } })
    expect(untied).toMatchObject({ status: 400, problem: { detail: expect.stringContaining('TOKEN_ID') } })
    const foreign = [{ call_id: 'other', input: {} }]
    expect((await served.call('approveCalls', { path, body: { token_id, edits: foreign } })).status).toBe(400)
    const approved = await served.call('approveCalls', { path, body: { token_id, edits }, headers: WAIT })
    expect(approved).toMatchObject({ status: 200, data: { reply: 'done' } })
    expect([house.read('ran'), house.count(id, 'tool.edited')]).toEqual(['edited\n', 1])
    expect((await served.call('showPending', { path })).data).toEqual({
      token_id: null,
      calls: [],
      can_be_edited: false,
    })
    await served.stop()
  })

  test('answers a question', async () => {
    const house = new House()
    const asks = { tools: [{ name: 'ask_operator', input: { question: 'Which?' } }] }
    await house.spawn('a', '-o', house.scenario('s.json', asks, { say: 'thanks' }))
    const served = await Served.start(house)
    const asked = await served.call('sendMessage', { path, body: { content: 'hi' }, headers: WAIT })
    expect(asked).toMatchObject({ status: 200, data: { reply: null, wait: { kind: 'input' } } })
    const body = { content: 'more', if_waiting: 'fail' as const }
    expect(await served.call('sendMessage', { path, body })).toMatchObject({
      status: 409,
      problem: { code: 'WAITING' },
    })
    const answered = await served.call('answerQuestion', { path, body: { text: '--blue' }, headers: WAIT })
    expect(answered).toMatchObject({ status: 200, data: { reply: 'thanks' } })
    await served.stop()
  })

  test('with the resume token as bearer token needs no other, and that token allows nothing else', async () => {
    const { served, token } = await waiting()
    const authorization = `Bearer ${token}`
    expect((await served.call('listAgents', { headers: { authorization } })).status).toBe(401)
    expect((await served.call('approveCalls', { path, body: {}, headers: { authorization } })).status).toBe(
      401,
    )
    const headers = { authorization, ...WAIT }
    const body = { decision: 'approve' as const }
    const elsewhere = await served.call('resumeAgent', { path: { agent: 'nobody' }, body, headers })
    expect(elsewhere).toMatchObject({ status: 403, problem: { code: 'TOKEN_FOREIGN' } })
    expect((await served.call('resumeAgent', { path, body: {}, headers })).status).toBe(400)
    const resumed = await served.call('resumeAgent', { path, body, headers })
    expect(resumed).toMatchObject({ status: 200, data: { reply: 'done' } })
    await served.stop()
  })

  test.for<
    [
      string,
      number,
      string,
      (token: string, house: House) => Promise<[string | undefined, 'approve' | 'input']>,
    ]
  >([
    ['missing', 401, 'TOKEN_MISSING', async () => [undefined, 'approve']],
    ['malformed', 401, 'TOKEN_MALFORMED', async () => ['st_x', 'approve']],
    ['invalid', 403, 'TOKEN_FOREIGN', async (token) => [`${token.slice(0, -4)}AAAA`, 'approve']],
    ['for another decision', 400, 'USAGE', async (token) => [token, 'input']],
    [
      'revoked',
      410,
      'TOKEN_REVOKED',
      async (token, house) => {
        await house.ok('token', 'rotate', 'a')
        return [token, 'approve']
      },
    ],
    [
      'consumed by another decision',
      409,
      'TOKEN_CONSUMED',
      async (token, house) => {
        await house.ok('resume', 'a', '--token', token, '--deny')
        return [token, 'approve']
      },
    ],
  ])('with a token that is %s is %i %s', async ([, status, code, prepare]) => {
    const { house, served, token } = await waiting()
    const [given, decision] = await prepare(token, house)
    const body = { decision, text: 'x', ...(given === undefined ? {} : { token: given }) }
    expect(await served.call('resumeAgent', { path, body })).toMatchObject({ status, problem: { code } })
    await served.stop()
  })

  test('with a token that has expired is 410 TOKEN_EXPIRED', async () => {
    const house = new House({ SUBSTRAT_TOKEN_LIFETIME: '1ms' })
    const id = await house.spawn('a', '-o', house.scenario('s.json', SHELL))
    const { json } = await house.run(['send', 'a', 'hi', '--json'])
    await house.waitForTime(id)
    const served = await Served.start(house)
    const body = { decision: 'approve' as const, token: json.wait.token as string }
    const refused = await served.call('resumeAgent', { path, body })
    expect(refused).toMatchObject({ status: 410, problem: { code: 'TOKEN_EXPIRED', who: 'operator' } })
    await served.stop()
  })

  test('that is repeated consumes its token once and has the same outcome', async () => {
    const { house, served, id, token } = await waiting()
    const body = { decision: 'approve' as const, token }
    const first = await served.call('resumeAgent', { path, body, headers: WAIT })
    const second = await served.call('resumeAgent', { path, body, headers: WAIT })
    expect(second).toMatchObject({ status: 200, data: { reply: (first.data as { reply: string }).reply } })
    expect(house.count(id, 'token.consumed')).toBe(1)
    await served.stop()
  })
})
