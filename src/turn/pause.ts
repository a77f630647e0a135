/** A pause of a turn, which a stop of the turn ends. */
import type { TurnEvent } from './step/turn-event.js'
import type { TurnStop } from './stop.js'

export function pause(ms: number, stop: TurnStop): Promise<TurnEvent> {
  const { signal } = stop
  return new Promise((resolve) => {
    const onStop = (): void => {
      clearTimeout(timer)
      resolve({ type: 'stopped', reason: stop.reason(), state: null, result: null })
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onStop)
      resolve({ type: 'retry' })
    }, ms)
    signal.addEventListener('abort', onStop, { once: true })
  })
}
