/** Killed while a model answers, piece by piece, over the loopback: it is asked again, and answers once. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { KillPoint } from '../kill/strace.js'
import { type Lab, repository } from '../support/lab.js'
import { LoopbackModel } from '../support/model.js'
import { replyIsKept, takenOnce } from '../support/promises.js'
import { exits } from './promises.js'
import type { Scenario } from './scenario.js'

const MESSAGE =
  'what is so long that it comes in a dozen pieces, with time for a kill between any two of them'
const REPLY = `echo: ${MESSAGE}`

export const INFERENCE: Scenario[] = [inferring('send-inference')]

function inferring(name: string): Scenario {
  const argv = ['send', 'a', '--key', 'k', MESSAGE]
  return {
    name,
    argv,
    // The plugin is linked for this scenario alone.
    env: (lab) => ({ XDG_DATA_HOME: dataOf(lab) }),
    async prepare(lab, home) {
      const model = await LoopbackModel.start(lab, { responses: [{}, { event_delay_ms: 10 }] })
      const env = { XDG_DATA_HOME: dataOf(lab) }
      mkdirSync(env.XDG_DATA_HOME, { recursive: true })
      const plugin = join(repository, 'plugins/provider-openai')
      const options = ['--option', `base_url=${model.url}/v1`, '--option', 'api=chat']
      const commands = [
        ['plugins', 'link', plugin],
        ['spawn', '--name', 'a', '--provider', 'openai', '--model', 'loopback', ...options],
        ['send', 'a', 'earlier'],
        ['recover', '--all'],
      ]
      for (const words of commands) {
        const { code, stderr } = await lab.run(home, words, { env })
        if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`)
      }
      return () => model.stop()
    },
    syscalls: ['epoll_wait', 'epoll_pwait', 'read', 'recvfrom', 'sendto', 'connect'],
    points: betweenIntentAndReply,
    acknowledged: (told, home) => replyIsKept(told, home.agent('a'), MESSAGE, REPLY),
    next: { argv, check: (ended) => exits(ended, 0, `${REPLY}\n`) },
    finally: (home) => takenOnce(home.agent('a'), MESSAGE, REPLY),
  }
}

function dataOf(lab: Lab): string {
  return join(lab.root, 'user', 'data-with-plugin')
}

/** From the sync of the request to the model to the record of its response: its waits and its reads count as well. */
function betweenIntentAndReply(points: KillPoint[]): KillPoint[] {
  const isLog = ({ what }: KillPoint): boolean => /^agents\/<id>\/events\.jsonl$/.test(what)
  const from = points.findIndex((point) => point.syscall === 'fdatasync' && isLog(point))
  const to = points.findIndex((point, at) => at > from && point.syscall === 'pwrite64' && isLog(point))
  return points.slice(from + 1, to + 1).map((point) => ({ ...point, named: 'in mid-inference' }))
}
