/**
 * Durations elapse in real time, even if a log has records of a clock that was far ahead. This class knows, by a
 * correct clock, when a secret was printed and when a message was sent.
 *
 * Invariant: no duration is judged across a command under a wrong clock, because that command may have ended it. The
 * same holds after the clock was set back. A duration that begins under a clock that is ahead lasts as long by the
 * correct one.
 */
import type { Host } from './host.js'
import type { Done } from './story.js'
import type { World } from './world.js'

const DAY_MS = 24 * 3600 * 1000
/** The default of the setting. */
const TOKEN_MS = 7 * DAY_MS
const SECRET = /st_[\w-]+/g

export class Durations {
  private readonly toldAt = new Map<string, number>()
  private readonly sentAt = new Map<string, number>()

  constructor(private readonly host: Host) {}

  restart(): void {
    this.toldAt.clear()
    this.sentAt.clear()
  }

  noteJump(ms: number): void {
    if (ms < 0) this.restart()
  }

  /** `offMs` is the clock's error while these commands ran. It is correct again now. */
  after(offMs: number, done: Done[]): string[] {
    if (offMs === 0) return done.flatMap((each) => this.judge(each))
    this.restart()
    if (offMs > 0) for (const each of done) this.begin(each)
    return []
  }

  private begin({ command: { action }, words, told }: Done): void {
    const now = this.host.now()
    for (const [secret] of `${told.stdout}${told.stderr}`.matchAll(SECRET))
      if (!this.toldAt.has(secret)) this.toldAt.set(secret, now)
    if (action.do === 'send' && action.how === 'later' && told.status === 0 && words.message !== undefined)
      this.sentAt.set(words.message.content, now)
  }

  private judge(done: Done): string[] {
    this.begin(done)
    const { action } = done.command
    const { told } = done
    const now = this.host.now()
    const used = told.argv[told.argv.indexOf('--token') + 1] ?? ''
    const from = this.toldAt.get(used)
    const isExpired = action.do === 'decide' && /TOKEN_EXPIRED/.test(told.stdout)
    if (!isExpired || from === undefined || now - from >= TOKEN_MS) return []
    return [
      `a token lives ${TOKEN_MS} ms: ${used.slice(0, 12)} of ${action.at} was printed ${now - from} ms ago`,
    ]
  }

  *tooEarly({ agents }: World): Iterable<string> {
    const { laterMs } = this.host.pace
    const now = this.host.now()
    for (const { state, taken } of agents)
      for (const { content, id } of taken) {
        const from = this.sentAt.get(content)
        if (from !== undefined && now - from < laterMs)
          yield `a scheduled message is pending for ${laterMs} ms: #${id} came to ${state.path} within ${now - from} ms`
      }
  }
}
