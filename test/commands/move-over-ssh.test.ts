/**
 * `export --move --to ssh://…`, with a program named `ssh` that runs the command of the other machine here. It fails, or kills
 * its caller, before or after one of its runs.
 */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { repository } from '../../stress/support/lab.js'
import { House, type Result } from '../support/cli.js'
import { tempDirectory } from '../support/temp.js'

const SSH = `#!/bin/sh
printf '%s\\n' "$*" >>"$FAKE_SSH/calls"
run=$(wc -l <"$FAKE_SSH/calls")
while [ "$1" != -- ]; do shift; done
end() {
  [ "$FAKE_SSH_END" = "$1 $run $2" ] || return
  case $2 in
    dies) kill -9 $PPID;;
    reclaims)
      SUBSTRAT_HOME=$FAKE_SSH_HERE SUBSTRAT_TIMEOUT=50ms $SUBSTRAT_REMOTE import --reclaim lead 2>"$FAKE_SSH/reclaim"
      echo "exit $?" >>"$FAKE_SSH/reclaim"
      return;;
  esac
  exit 255
}
end before reclaims; end before fails; end before dies
sh -c "$3"
status=$?
end after fails; end after dies
exit $status
`

class Machines {
  readonly here = new House()
  readonly there = new House()
  private readonly bin = tempDirectory()

  constructor() {
    const ssh = join(this.bin, 'ssh')
    writeFileSync(ssh, SSH)
    chmodSync(ssh, 0o700)
  }

  get url(): string {
    return `ssh://me@there:2222${this.there.home}`
  }

  /** \`end\`: such as "before 2 dies". */
  move(end = '', ...flags: string[]): Promise<Result> {
    const env = {
      PATH: `${this.bin}:${process.env.PATH}`,
      FAKE_SSH: this.bin,
      FAKE_SSH_END: end,
      FAKE_SSH_HERE: this.here.home,
      SUBSTRAT_REMOTE: `${process.execPath} ${join(repository, 'bin', 'run.js')}`,
    }
    return this.here.start(['export', 'lead', '--move', '--tree', '--to', this.url, ...flags], { env }).result
  }

  calls(): string[] {
    return this.linesIn('calls')
  }

  /** The lines that the reclaim during the move printed to stderr, and its exit status. */
  reclaim(): string[] {
    return this.linesIn('reclaim')
  }

  private linesIn(name: string): string[] {
    const file = join(this.bin, name)
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  }
}

async function machinesWithTree(): Promise<Machines> {
  const machines = new Machines()
  const { here } = machines
  await here.spawn('lead')
  await here.ok('send', 'lead', 'hello', '--key', 'k')
  await here.ok('spawn', '--name', 'kid', '--parent', 'lead')
  await here.ok('send', 'lead/kid', '--queue', '--no-drain', 'pending')
  return machines
}

async function paths(house: House): Promise<string[]> {
  const { agents } = (await house.ok('list', '--json')).json
  return agents.map(({ path }: { path: string }) => path).sort()
}

test('a tree moves to the home of another machine, and the caller says where', async () => {
  const machines = await machinesWithTree()
  const { here, there, url } = machines
  const { exit, stdout } = await machines.move('', '--name', 'it’s mine')
  expect([exit, stdout]).toEqual([0, `moved 2 agents to ${url}\n`])
  expect(machines.calls()[0]).toMatch(/^-p 2222 -- me@there SUBSTRAT_HOME=.* import - --trust --hold /)
  expect([await paths(here), await paths(there)]).toEqual([[], ['it’s mine', 'it’s mine/kid']])
  expect((await here.run(['send', 'lead', 'hi'])).stderr).toContain(`was moved to ${url}`)
  expect((await here.run(['export', 'lead', '--move', '--bundle', 'f'])).exit).toBe(13)
  expect((await there.ok('send', 'it’s mine', 'hello', '--key', 'k')).stdout).toBe('echo: hello\n')
})

const ENDS = ['before', 'after'].flatMap((when) =>
  [1, 2].flatMap((run) => ['fails', 'dies'].map((how) => `${when} ${run} ${how}`)),
)

test.each(ENDS)('the same command gives the tree one owner if ssh %s', async (end) => {
  const machines = await machinesWithTree()
  const { here, there } = machines
  const first = await machines.move(end)
  expect(first.exit === 0).toBe(false)
  for (const house of [here, there]) if (house.exists()) await house.ok('recover', '--all')
  const owners = [await paths(here), await paths(there)].filter((found) => found.length > 0)
  expect(owners.length).toBeLessThan(2)
  // An owner that is still here goes on meanwhile, so that the bundle there is out of date.
  if ((await paths(here)).length > 0) await here.ok('send', 'lead', 'meanwhile')
  expect(await machines.move()).toMatchObject({ exit: 0 })
  expect([await paths(here), await paths(there)]).toEqual([[], ['lead', 'lead/kid']])
  await there.ok('deliver', 'lead/kid')
  const { messages } = (await there.ok('export', 'lead/kid', '--json')).json
  expect(messages.filter(({ content }: { content: string }) => content === 'pending')).toHaveLength(1)
  for (const house of [here, there]) expect((await house.ok('doctor', '--all')).exit).toBe(0)
  expect(await machines.move()).toMatchObject({ exit: 0 })
  expect((await there.ok('send', 'lead', 'hi')).stdout).toBe('echo: hi\n')
})

test('no reclaim opens the agent here while the other machine opens it', async () => {
  const machines = await machinesWithTree()
  const { here, there } = machines
  expect(await machines.move('before 2 reclaims')).toMatchObject({ exit: 0 })
  expect(machines.reclaim()).toEqual(expect.arrayContaining([expect.stringContaining('is busy'), 'exit 4']))
  expect([await paths(here), await paths(there)]).toEqual([[], ['lead', 'lead/kid']])
})

test('an agent that was taken back before the other machine opens it stays here, and can move again', async () => {
  const machines = await machinesWithTree()
  const { here, there } = machines
  expect((await machines.move('before 2 fails')).exit).not.toBe(0)
  await here.ok('import', '--reclaim', 'lead')
  expect([await paths(here), await paths(there)]).toEqual([['lead', 'lead/kid'], []])
  expect(await machines.move()).toMatchObject({ exit: 0 })
  expect([await paths(here), await paths(there)]).toEqual([[], ['lead', 'lead/kid']])
})

test.each(['ssh://-oProxyCommand=x', 'ssh://', 'http://there', 'ssh://there;id', 'ssh://a b'])(
  'no option and no shell word passes for a host: %s',
  async (url) => {
    const house = new House()
    await house.spawn('lead')
    expect(await house.run(['export', 'lead', '--move', '--to', url])).toMatchObject({ exit: 2 })
  },
)
