/** How far `wait --all` is: `3 of 7 done, 2 running, 1 needs you: a`. */
import type { State } from '../session/state.js'

/** An agent that was looked at. */
export interface Look {
  state: State
  isRunning: boolean
  /** The process of its turn is stopped. */
  isStopped?: boolean
}

export function progressText(looks: Look[], isDone: (agentId: string) => boolean, total: number): string {
  const asking = looks.filter(({ state: { run } }) => run?.wait != null && run.wait.kind !== 'not_before')
  const done = looks.filter((look) => isDone(look.state.id) && !asking.includes(look))
  const running = looks.filter((look) => look.isRunning && !asking.includes(look))
  const names = asking.map(({ state }) => state.path).join(', ')
  const needs = asking.length === 1 ? `1 needs you: ${names}` : `${asking.length} need you: ${names}`
  const stopped = looks.filter((look) => look.isRunning && look.isStopped === true && !isDone(look.state.id))
  const parts = [`${done.length} of ${total} done`, `${running.length} running`]
  if (stopped.length > 0)
    parts.push(`${stopped.length} stopped: ${stopped.map(({ state }) => state.path).join(', ')}`)
  return [...parts, ...(asking.length === 0 ? [] : [needs])].join(', ')
}
