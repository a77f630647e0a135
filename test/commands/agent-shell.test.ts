/** The CLI inside an agent's tool or program acts as that agent. */
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { agent, call, mails, of, type Response, results } from '../support/tool-agents.js'

const RUN_JS = path.join(import.meta.dirname, '..', '..', 'bin', 'run.js')
const CLI = `${process.execPath} ${RUN_JS}`
const ALL = ['--allow', 'all']

function shell(...commands: string[]): { name: string; input: object } {
  return call('shell', {
    command: commands.map((each) => each.replaceAll('substrat ', `${CLI} `)).join('\n'),
  })
}

/** The output of the shells of the agent's only turn. */
async function printed(house: House, id: string): Promise<string[]> {
  const { exit, stderr } = await house.run(['send', id, 'go'])
  expect(exit, stderr).toBe(0)
  return results(house, id).map(({ text }) => text)
}

describe.concurrent('a shell in a tool', () => {
  test('sends as its agent, and prints the reply', async () => {
    const house = new House()
    const id = await agent(house, 'a', [shell('substrat send kid "how far?" 2>/dev/null'), 'ok'], ...ALL)
    const kid = await agent(house, 'a/kid', ['half'])
    expect(await printed(house, id)).toEqual(['half\n'])
    expect(of(house, kid, 'mail.delivered')[0]).toMatchObject({
      from: id,
      from_path: 'a',
      mail_kind: 'request',
    })
    // The shell got the reply, and no inbox got it again.
    expect([mails(house, id), house.inbox(id)]).toEqual([[], []])
    expect(house.findings()).toEqual([])
  })

  test('gets the exit status of a failed turn', async () => {
    const house = new House()
    const id = await agent(
      house,
      'a',
      [shell('substrat send kid x 2>/dev/null; echo "exit $?"'), 'ok'],
      ...ALL,
    )
    await agent(house, 'a/kid', [{ fail: { type: 'invalid' } }])
    expect(await printed(house, id)).toEqual(['exit 9\n'])
    expect(house.inbox(id)).toEqual([])
  })

  test('spawns a child of its agent', async () => {
    const house = new House()
    const id = await agent(
      house,
      'a',
      [
        shell(
          'substrat spawn --name kid -p scripted 2>/dev/null',
          'substrat send kid hi 2>/dev/null | tail -1',
        ),
        'ok',
      ],
      ...ALL,
    )
    const [text] = await printed(house, id)
    const kid = String(text).slice(0, 36)
    expect(text).toBe(`${kid}\nhi\n`)
    expect(of(house, kid, 'session.created')[0]).toMatchObject({ parent: id, path: 'a/kid' })
  })

  test('obeys the rules of the tree: a refused command stores nothing', async () => {
    const house = new House()
    const words = ['top', 'top/a/kid/deep', 'other', '"$SUBSTRAT_AGENT"', 'nobody']
    const shells = words.map((word) => shell(`substrat send ${word} x >/dev/null 2>&1; echo "exit $?"`))
    await agent(house, 'top')
    const id = await agent(house, 'top/a', [shells, 'ok'], ...ALL)
    await agent(house, 'top/a/kid')
    const deep = await agent(house, 'top/a/kid/deep')
    const other = await agent(house, 'other')
    const [toParent, ...refused] = await printed(house, id)
    expect(toParent).toBe('exit 0\n')
    expect(refused).toEqual(['exit 13\n', 'exit 13\n', 'exit 13\n', 'exit 3\n'])
    for (const each of [deep, other, id]) expect(house.inbox(each)).toEqual([])
    for (const each of [deep, other]) expect(house.kinds(each)).toEqual(['session.created'])
  })

  test('gives no rights to the turn of another agent', async () => {
    const house = new House()
    const top = await agent(house, 'top')
    const words = ['send top x --queue --allow all', 'send top x --kind notification --allow shell']
    const shells = words.map((each) => shell(`substrat ${each} 2>&1; echo "exit $?"`))
    const id = await agent(house, 'top/a', [shells, 'ok'], ...ALL)
    for (const text of await printed(house, id)) expect(text).toMatch(/only a person may[\s\S]*exit 13\n$/)
    expect(house.inbox(top)).toEqual([])
  })

  test('controls only the agents below its agent, and sends only as its agent', async () => {
    const house = new House()
    const refused = [
      'send sib x --queue --from top',
      'spawn --name x --parent other',
      'spawn --name x --parent top',
      'set top --title x',
      'set "$SUBSTRAT_AGENT" --allow all',
      'suspend top --hold',
      'resume other',
      'retry top',
    ]
    const kept = ['spawn --name x --parent top/a/kid', 'set kid --title x', 'suspend kid', 'resume kid']
    const shells = [...refused, ...kept].map((words) =>
      shell(`substrat ${words} >/dev/null 2>&1; echo "exit $?"`),
    )
    const top = await agent(house, 'top')
    await agent(house, 'top/a', [shells, 'ok'], ...ALL)
    const others = [top, await agent(house, 'top/sib'), await agent(house, 'other')]
    await agent(house, 'top/a/kid')
    const id = (await house.ok('show', 'top/a', '--json')).json.agent.id
    expect(await printed(house, id)).toEqual([
      ...refused.map(() => 'exit 13\n'),
      ...kept.map(() => 'exit 0\n'),
    ])
    for (const each of others) {
      expect(house.kinds(each)).toEqual(['session.created'])
      expect(house.inbox(each)).toEqual([])
    }
    expect(await house.ok('tree', 'other')).toMatchObject({ stdout: expect.not.stringContaining('x') })
  })

  test.each<[string, Response]>([
    ['the tool of the other one', call('send_message', { to: 'parent', content: 'x', wait: true })],
    ['a shell of the other one', shell('substrat send parent x; echo "exit $?"')],
  ])('cannot wait for an agent that waits for it: %s is refused as a deadlock', async (_, back) => {
    const house = new House()
    const id = await agent(house, 'a', [shell('substrat send kid x 2>/dev/null'), 'ok'], ...ALL)
    const kid = await agent(house, 'a/kid', [back, 'kid is done'], ...ALL)
    expect(await printed(house, id)).toEqual(['kid is done\n'])
    expect(results(house, kid)[0]?.text).toContain('this wait would be a deadlock')
    expect(house.inbox(id)).toEqual([])
  })

  test.each([
    'spawn "begin" --name kid --option scenario=kid.json --allow all',
    'deliver a/other',
    'wait a/other',
  ])('cannot run substrat %s while an agent below waits for its agent', async (command) => {
    const house = new House()
    const back = call('send_message', { to: 'parent', content: 'x', wait: true })
    const id = await agent(
      house,
      'a',
      [shell('substrat send other x --queue --no-drain', `substrat ${command} >/dev/null`), 'ok'],
      ...ALL,
    )
    house.scenario('kid.json', { tools: [back] }, { say: 'kid is done' })
    const other = await agent(
      house,
      'a/other',
      [...(command.startsWith('spawn') ? [] : [back]), 'done'],
      ...ALL,
    )
    await printed(house, id)
    const waited = command.startsWith('spawn')
      ? (await house.ok('show', 'a/kid', '--json')).json.agent.id
      : other
    expect(results(house, waited)[0]?.text).toContain('this wait would be a deadlock')
  })

  test('prints the same reply when it is killed and run again with its key', async () => {
    const house = new House()
    const ask = 'substrat send kid x --key k 2>/dev/null'
    const again = shell(`${ask} & echo $! > sender; wait`, `${ask}; echo "exit $?"`)
    const id = await agent(house, 'a', [again, 'ok'], ...ALL)
    const kid = await agent(house, 'a/kid', [{ after_file: 'go', say: 'half' }, 'none'])
    const turn = house.start(['send', 'a', 'go'])
    await house.waitForRecord(kid, 'model.requested')
    process.kill(Number(house.read('sender')), 'SIGKILL')
    house.write('go', '')
    expect((await turn.result).exit).toBe(0)
    expect(results(house, id).map(({ text }) => text)).toEqual([expect.stringContaining('half\nexit 0\n')])
    expect([mails(house, kid), house.inbox(kid), mails(house, id)]).toEqual([['request: x'], [], []])
    expect(house.findings()).toEqual([])
  })

  test('leaves the reply in the inbox of its agent if it dies before it prints it', async () => {
    const house = new House()
    const id = await agent(
      house,
      'a',
      [shell('substrat send kid x >/dev/null 2>&1 & echo $! > sender; wait; echo killed'), 'ok', 'thanks'],
      ...ALL,
    )
    const kid = await agent(house, 'a/kid', [{ after_file: 'go', say: 'half' }])
    const turn = house.start(['send', 'a', 'go'])
    await house.waitForRecord(kid, 'model.requested')
    process.kill(Number(house.read('sender')), 'SIGKILL')
    house.write('go', '')
    expect((await turn.result).exit).toBe(0)
    await house.run(['recover', '--all', '--continue', 'all'])
    expect(mails(house, id)).toContain('response: half')
    expect(mails(house, id).filter((mail) => mail.startsWith('response'))).toHaveLength(1)
    expect(house.findings(true)).toEqual([])
  })
})

describe.concurrent('the program of an agent', () => {
  test('lends its slot to the agents that it waits for, one at a time', async () => {
    const house = new House({ SUBSTRAT_SLOTS_MAX: '1', SUBSTRAT_TIMEOUT: '1h' })
    await house.spawn(
      'a',
      '--provider',
      'exec',
      '--option',
      `command=for kid in one two; do ${CLI} send $kid hi & done; wait`,
    )
    await agent(house, 'a/one', ['from one'])
    await agent(house, 'a/two', ['from two'])
    const { exit, stdout, stderr } = await house.run(['send', 'a', 'go'])
    expect(exit, stderr).toBe(0)
    expect(
      stdout
        .split('\n')
        .filter((each) => each !== '')
        .sort(),
    ).toEqual(['from one', 'from two'])
    expect(house.findings()).toEqual([])
  })
})
