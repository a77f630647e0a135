/** The page over a reboot: the server and the writers are killed, and the kernel has another boot id afterwards. */
import { expect, test } from 'vitest'
import { linked, Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { Host, hasHosts } from '../support/hosts.js'
import { MARKS } from '../support/parked.js'
import { expectInDocs } from '../support/transcript.js'
import { openPage } from './page-support.js'

const button = (name: string) => ({ name, exact: true })

/** The output, with the places and the port of a reader of the page. */
function shown(house: House, output: string): string {
  return (
    output
      .trimEnd()
      .replaceAll(house.workspace, '/home/you/site')
      .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:4777')
      // A terminal has the link itself.
      .replace(
        /^substrat: the link with the token: .*$/m,
        'substrat: open http://127.0.0.1:4777/#token=NvZzMXio…',
      )
      .replace(/\/\S*\/(?=serve-)/, '/home/you/.local/state/substrat/')
      .replace(/(?<=serve-)[0-9a-f]+/, 'e8816836994fe2c3')
  )
}

test.skipIf(!hasHosts)(
  'an approval that was asked before a reboot is given on the same page after it',
  async () => {
    const house = House.ofProcesses()
    const host = new Host(house, 'desk')
    const deploy = await house.spawn(
      'deploy',
      '-o',
      house.scenario('d.json', { tools: [MARKS] }, { say: 'It is live.' }),
    )
    const build = await house.spawn(
      'build',
      '-o',
      house.scenario('b.json', { after_file: 'go', say: 'It builds.' }),
    )
    const serve = (port: number) =>
      host.launch(['serve', '--listen', `127.0.0.1:${port}`], { env: linked(house) })
    const first = await Served.of(house, serve(0))
    const { page, troubles } = await openPage(first)
    for (const agent of ['deploy', 'build'])
      expect((await first.call('sendMessage', { path: { agent }, body: { content: 'go' } })).status).toBe(202)
    const card = (name: string) =>
      page.getByRole('article').filter({ has: page.getByRole('link', button(name)) })
    await card('deploy').getByText('echo ran >> ran').waitFor()
    await house.waitForRecord(build, 'model.requested')

    const started = house.records(build).find((record) => record.kind === 'run.started') as {
      boot_id: string
    }
    await first.running.kill('SIGKILL')
    process.kill(Number(started.boot_id.split('/')[2]), 'SIGKILL')
    host.boot(5)

    const second = await Served.of(house, serve(first.port))
    expect(second.running.stderr).toContain('agents: 1 interrupted')
    await card('build').getByText('the machine was restarted').waitFor()
    await card('deploy').getByRole('button', button('Approve')).click()
    await house.waitForRecord(deploy, 'run.completed')
    house.write('go', '')
    await card('build').getByRole('button', button('Resume')).click()
    await house.waitForRecord(build, 'run.completed')
    await page.getByText('No agent waits for you').waitFor()

    expect(house.read('ran')).toBe('ran\n')
    const log = async (name: string): Promise<string> => (await house.ok('log', name)).stdout
    expectInDocs(
      'docs/serve.md',
      'After a reboot',
      [
        '$ substrat serve',
        first.running.stderr,
        '[The page asks for approval of a call of deploy, while build works. The machine restarts.]',
        '$ substrat serve',
        second.running.stderr,
        '[On the same page: Approve deploy, Resume build.]',
        '$ substrat log deploy',
        await log('deploy'),
        '$ substrat log build',
        await log('build'),
      ].map((text) => shown(house, text)),
    )
    expect(house.findings()).toEqual([])
    expect(troubles).toEqual([])
    await second.stop()
  },
)
