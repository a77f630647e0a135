import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { sleep } from '../src/clock.js'
import { timeoutSignal } from '../src/timeout-signal.js'
import { pluginPart } from './plugins/plugin-part.js'

const ofPlugins = await pluginPart<{ timeoutSignal: typeof timeoutSignal }>('shared/src/timeout-signal')

test.each([
  ['the signal of src', timeoutSignal],
  ['the signal of plugins', ofPlugins.timeoutSignal],
])(
  '%s aborts although only another signal references it, even after garbage collection',
  async (_, timeoutSignal) => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const other = new AbortController()
    const either = AbortSignal.any([other.signal, timeoutSignal(200)])
    while (!either.aborted) {
      await sleep(20)
      collect()
    }
    expect([either.aborted, other.signal.aborted]).toEqual([true, false])
  },
)
