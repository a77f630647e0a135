/** The case of the conformance suite about a program that is killed from outside. */
import type { ProcessGroup } from '../../session/fields.js'
import type { AgentProvider } from '../contract.js'
import { Deaths } from '../deaths.js'
import type { AgentHost } from '../host-contract.js'
import { send } from '../process-group.js'
import { type ConformanceFixture, demand, moment } from './case.js'
import { failureOf } from './ends.js'

/** What the provider has to see that its program is gone. */
const END_MS_MAX = 10_000

/** Killed once it was launched, as by a kernel without memory: nothing but its exit says so. */
export async function killProgram(
  provider: AgentProvider,
  { settings, prompt, withinMs = END_MS_MAX }: NonNullable<ConformanceFixture['slow']>,
  host: AgentHost,
  launched: ProcessGroup[],
): Promise<void> {
  const deaths = new Deaths()
  const launches: Promise<unknown>[] = []
  const launch: AgentHost['launch'] = (command, options) => {
    const program = host.launch(command, options).then((each) => deaths.watch(each))
    launches.push(program.catch(() => undefined))
    return program
  }
  const session = await provider.create(settings, { ...host, launch })
  const controller = new AbortController()
  let hasAnswered = false
  const ended = failureOf(async () => {
    for await (const { type } of session.send(prompt, { signal: controller.signal, allow: [] }))
      hasAnswered ||= type === 'done'
  })
  // Until it launches, however long that takes, and says something first.
  await moment(ended)
  await Promise.race([ended, Promise.all(launches)])
  await moment(ended)
  // An agent without a program of its own has none that could be killed.
  if (launched.length === 0) controller.abort()
  for (const { process_group } of launched) send(-process_group, 'SIGKILL')
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, withinMs, false)
  })
  const isSeen = await Promise.race([ended.then(() => true), late])
  clearTimeout(timer)
  controller.abort()
  const type = await ended
  if (launched.length === 0) return
  await session.stop()
  demand(isSeen, 'the death of its program ends the turn')
  demand(!hasAnswered, 'a program that was killed has not answered')
  demand(type === 'crashed', `the type is crashed: ${type}`)
  demand(deaths.killer === 'SIGKILL', 'its exit is waited for before it is killed')
}
