/** `notify test`: sends one event to each target now. Nothing is recorded. */
import { clock } from '../clock.js'
import { SubstratError } from '../errors.js'
import type { NotifyTarget } from '../outbound/notify.js'
import { ready } from '../outbound/notify-target.js'
import type { Attempt, OutboundMessage } from '../outbound/target.js'
import type { NotifyTested } from '../schema/output-home.js'
import { randomUuid } from '../start/random.js'

export async function testTargets(
  targets: NotifyTarget[],
  { name, homeId }: { name: string | undefined; homeId: string },
): Promise<{ tested: NotifyTested; failure: SubstratError | undefined }> {
  const chosen = name === undefined ? targets : targets.filter((target) => target.name === name)
  if (chosen.length === 0) throw noTargetError(targets, name)
  const results = await Promise.all(chosen.map((target) => testTarget(target, homeId)))
  const failed = results.filter(({ accepted }) => !accepted)
  return { tested: { targets: results }, failure: failed.length === 0 ? undefined : failureOf(failed) }
}

async function testTarget(target: NotifyTarget, homeId: string): Promise<NotifyTested['targets'][number]> {
  const { name } = target
  let attempt: Attempt
  try {
    const usable = ready(target, { homeId, variables: new Map(), stderr: 'inherit' })
    attempt = await usable.send(testMessage(), new AbortController().signal)
  } catch (error) {
    attempt = { outcome: 'failed', why: (error as Error).message }
  }
  const why = 'why' in attempt ? attempt.why : null
  return { target: name, accepted: attempt.outcome === 'accepted', why }
}

function testMessage(): OutboundMessage {
  const at = new Date(clock.now()).toISOString()
  const text = 'This is a test of the notifications of substrat.'
  const agent = '00000000-0000-0000-0000-000000000000'
  return {
    outbound_id: randomUuid(),
    event: 'message',
    agent,
    path: 'test',
    run_id: null,
    thread: null,
    at,
    text,
  }
}

function noTargetError(targets: NotifyTarget[], name: string | undefined): SubstratError {
  const known = targets.map((target) => target.name).join(', ')
  if (name === undefined || targets.length === 0)
    return new SubstratError('USAGE', 'no target is configured in the setting notify', {
      hint: `add one: substrat config set notify '[{"name": "me", "on": ["waiting", "failed"], "url": "https://…"}]'`,
    })
  return new SubstratError('USAGE', `there is no target ${JSON.stringify(name)}`, {
    hint: `the targets are: ${known}`,
  })
}

function failureOf(failed: NotifyTested['targets']): SubstratError {
  const [{ target, why }] = failed as [NotifyTested['targets'][number]]
  const what =
    failed.length === 1 ? `target ${target} did not accept` : `${failed.length} targets did not accept`
  return new SubstratError('UNDELIVERABLE', `${what} the test event: ${why}`, {
    hint: 'check it: substrat config get notify',
    facts: { targets: failed.map((each) => each.target) },
  })
}
