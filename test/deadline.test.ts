import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { sleep } from '../src/clock.js'
import { deadline } from '../src/deadline.js'
import { pluginPart } from './plugins/plugin-part.js'

const ofPlugins = await pluginPart<{ deadline: typeof deadline }>('shared/src/deadline')

test.each([
  ['ours', deadline],
  ['that of plugins', ofPlugins.deadline],
])(
  '%s comes also where only another signal knows of it, whatever is collected meanwhile',
  async (_, deadline) => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const other = new AbortController()
    const either = AbortSignal.any([other.signal, deadline(200)])
    while (!either.aborted) {
      await sleep(20)
      collect()
    }
    expect([either.aborted, other.signal.aborted]).toEqual([true, false])
  },
)
