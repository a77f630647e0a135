import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { waitFor } from '../support/wait.js'

describe.concurrent('export', () => {
  test('prints the conversation as Markdown, and with --json exactly the documented object', async () => {
    const house = new House()
    const id = await house.spawn('a', '--system', 'Be brief.')
    const sent = await house.run(['send', 'a', 'hello', '--json'])
    const time = '[-\\d]{10} [:\\d]{8}Z'
    expect((await house.ok('export', 'a')).stdout).toMatch(
      new RegExp(
        `^# a\n\nAgent ${id}, provider scripted\\.\n\n## Instructions\n\nBe brief\\.\n\n## You, ${time}\n\nhello\n\n## Agent, ${time}\n\necho: hello\n$`,
      ),
    )
    const { json } = await house.ok('export', 'a', '--json')
    const at = expect.stringMatching(/Z$/)
    const run_id = sent.json.run.id
    expect(json).toStrictEqual({
      agent: sent.json.agent,
      instructions: 'Be brief.',
      messages: [
        { role: 'user', from: 'operator', at, run_id, content: 'hello' },
        { role: 'assistant', from: id, at, run_id, content: 'echo: hello' },
      ],
    })
  })

  test('the prompt that continues an interrupted turn is from substrat', async () => {
    const house = new House()
    const command = 'command=if mkdir once; then : > begun; exec sleep 3600; fi; echo done'
    await house.spawn('a', '--provider', 'exec', '--option', command)
    const turn = house.run(['send', 'a', 'hello'])
    await waitFor(() => house.read('begun') !== undefined, 'the turn')
    await house.ok('suspend', 'a')
    await turn
    await house.ok('resume', 'a')
    const { messages } = (await house.ok('export', 'a', '--json')).json
    const senders = messages.map(({ from }: { from: string }) => from)
    expect(senders.slice(0, 2)).toEqual(['operator', 'substrat'])
    expect((await house.ok('export', 'a')).stdout).toMatch(/^## substrat, /m)
  })

  test('-o writes a file, replaces an existing one, and says so', async () => {
    const house = new House()
    await house.spawn('a')
    await house.ok('send', 'a', 'hello')
    const file = house.write('a.md', 'old')
    expect((await house.ok('export', 'a', '-o', 'a.md')).stdout).toBe('wrote 2 messages to a.md\n')
    expect(readFileSync(file, 'utf8')).toBe((await house.ok('export', 'a')).stdout)
    const written = await house.ok('export', 'a', '-o', 'a.json', '--json')
    expect(written.json).toStrictEqual({ output: 'a.json', messages: 2 })
    const exported = JSON.parse(readFileSync(`${house.workspace}/a.json`, 'utf8'))
    expect(exported).toStrictEqual((await house.ok('export', 'a', '--json')).json)
  })

  test('-o to an unwritable place is exit 11, and leaves nothing', async () => {
    const house = new House()
    await house.spawn('a')
    for (const path of ['no/such/directory/a.md', '.', '/dev/full/a.md', '/proc/a.md']) {
      const refused = await house.run(['export', 'a', '-o', path])
      expect(refused, path).toMatchObject({ exit: 11, stdout: '' })
      expect(refused.stderr).toMatch(
        /^substrat: cannot write [^ ]+: (it is not a regular file|[A-Z]+: [a-z ]+) \(.*\)\n$/,
      )
    }
    expect(readdirSync(house.workspace)).toEqual([])
  })
})
