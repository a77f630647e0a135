/** Conformance case: a program that is killed from outside. */
import { settledWithin } from '../../clock.js'
import type { ProcessGroup } from '../../schema/types.js'
import type { AgentProvider } from '../contract.js'
import { Deaths } from '../deaths.js'
import type { AgentHost } from '../host-contract.js'
import { send } from '../process-group.js'
import { type ConformanceFixture, demand, moment } from './case.js'
import { failureOf } from './ends.js'

/** The time for the provider to notice that its program is dead. */
const END_MS_MAX = 10_000

/** Kills the launched program, as the kernel's OOM killer would. Only its exit shows this. */
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
  // Waits for the launch without a time limit, then gives the program time to print something.
  await moment(ended)
  await Promise.race([ended, Promise.all(launches)])
  await moment(ended)
  // This agent launches no program, so there is nothing to kill.
  if (launched.length === 0) controller.abort()
  for (const { process_group } of launched) send(-process_group, 'SIGKILL')
  const isSeen =
    (await settledWithin(
      ended.then(() => true),
      withinMs,
    )) === true
  controller.abort()
  const type = await ended
  if (launched.length === 0) return
  await session.stop()
  demand(isSeen, 'a turn must end when its program dies')
  demand(!hasAnswered, 'a turn whose program was killed must not be done')
  demand(type === 'crashed', `the failure type must be crashed: ${type}`)
  demand(deaths.killer === 'SIGKILL', 'the provider must await exited before it calls kill')
}
