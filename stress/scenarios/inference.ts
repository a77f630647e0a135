/**
 * Kills while a model streams its answer over the loopback. The next command asks it again, and the message gets one
 * answer.
 */
import { join } from 'node:path'
import { repository } from '../support/lab.js'
import { LoopbackModel } from '../support/model.js'
import { replyIsKept, takenOnce } from '../support/promises.js'
import { ownPlugins, takePlugins } from './own-plugins.js'
import { exits } from './promises.js'
import type { Scenario } from './scenario.js'

const MESSAGE =
  'an answer so long that it streams in a dozen pieces, with time for a kill between any two of them'
const REPLY = `echo: ${MESSAGE}`
const ARGV = ['send', 'a', '--key', 'k', MESSAGE]

export const INFERENCE: Scenario[] = [
  {
    name: 'send-inference',
    not: {
      powercut: 'reads from a socket change no disk: the disks are those of send-key',
      faults: 'a read from a socket is not a disk step: the steps are those of send-key',
    },
    argv: ARGV,
    env: (root) => ownPlugins(root, 'send-inference'),
    async prepare(stage) {
      const model = await LoopbackModel.start(stage, { responses: [{}, { event_delay_ms: 10 }] })
      stage.atEnd(() => model.stop())
      takePlugins(stage.root, 'send-inference')
      const options = ['--option', `base_url=${model.url}/v1`, '--option', 'api=chat']
      await stage.do('plugins', 'link', join(repository, 'plugins/provider-openai'))
      await stage.do('spawn', '--name', 'a', '--provider', 'openai', '--model', 'loopback', ...options)
      await stage.do('send', 'a', 'earlier')
      await stage.do('recover', '--all')
      return undefined
    },
    kill: {
      // Its waits and reads are kill points as well.
      syscalls: ['epoll_wait', 'epoll_pwait', 'read', 'recvfrom', 'sendto', 'connect'],
      isMomentOnly: true,
    },
    checkAcknowledged: (told, home) => replyIsKept(told, home.agent('a'), MESSAGE, REPLY),
    next: { argv: ARGV, check: (ended) => exits(ended, 0, `${REPLY}\n`) },
    finally: (home) => takenOnce(home.agent('a'), MESSAGE, REPLY),
  },
]
