/** The case of the conformance suite about a program that is killed from outside. */
import { sleep } from '../clock.js'
import type { ProcessGroup } from '../session/records.js'
import { type ConformanceFixture, must } from './conformance-case.js'
import { failureOf } from './conformance-ends.js'
import type { AgentHost, AgentProvider } from './contract.js'
import { Deaths } from './deaths.js'
import { send } from './program.js'

/** What a turn has to launch its program, and to say something first. */
const LAUNCH_MS_MAX = 300
/** What the provider has to see that its program is gone. */
const END_MS_MAX = 10_000

/** Killed once it was launched, as by a kernel without memory: nothing but its exit says so. */
export async function killed(
  provider: AgentProvider,
  { settings, prompt, withinMs = END_MS_MAX }: NonNullable<ConformanceFixture['slow']>,
  host: AgentHost,
  launched: ProcessGroup[],
): Promise<void> {
  const deaths = new Deaths()
  const launch: AgentHost['launch'] = async (command, options) =>
    deaths.watch(await host.launch(command, options))
  const session = await provider.create(settings, { ...host, launch })
  const controller = new AbortController()
  let hasAnswered = false
  const ended = failureOf(async () => {
    for await (const { type } of session.send(prompt, { signal: controller.signal, allow: [] }))
      hasAnswered ||= type === 'done'
  })
  await Promise.race([ended, sleep(LAUNCH_MS_MAX)])
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
  must(isSeen, 'the death of its program ends the turn')
  must(!hasAnswered, 'a program that was killed has not answered')
  must(type === 'crashed', `the type is crashed: ${type}`)
  must(deaths.killer === 'SIGKILL', 'its exit is waited for before it is killed')
}
