/**
 * The leash: a program dies with the process that started it. A small shell, the watcher, reads from a pipe whose only writer
 * is this process. A line releases the program. End-of-file means that this process is dead; the watcher then kills the program.
 *
 * Invariants:
 * - The watcher is a child of this process in its own session. It is not in the program's group, and not a child of the program.
 * - It has none of the program's pipes, and no tag of ours in its environment.
 * - It ignores every signal that can be ignored: a signal to every process must not end it together with us. A watcher that is
 *   killed is replaced.
 * - It kills the group only while its leader has the recorded start time. Outside of the group it kills only tagged processes.
 *
 * In a home whose leases end by themselves, a second shell, the timer, kills the program when the lease has ended, also while this
 * process is stopped: another host may continue the agent then. A third one, the guard, watches the timer. If one of the three is
 * killed, another kills the program. "Complete" means that all three have told this process that they run. The record of the
 * program then names the lease, and another host relies on it (`recovery/takeover.ts`).
 *
 * Ending is bounded: the group is killed at once, and the search for other processes ends after one more pass beyond SEARCH_MS_MAX.
 *
 * Without /proc (macOS) there is no timer, the watcher kills the group by its number, and no process that has left the group.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { ownIdentity } from '../host/identity.js'
import type { ProcessGroup } from '../schema/types.js'
import type { LeaseDeadline } from '../storage/store.js'
import { providerFailure } from './failure.js'
import type { ProcessTag } from './process-group.js'

export interface Leash {
  /** Whether the program is dead once the lease has been over for `limits.leashMarginMs`. */
  isComplete: Promise<boolean>
  /** Call it when the program has ended or may outlive this process. */
  release(): void
}

/** After that, the search for processes that have left the group is not repeated. Well below `limits.leashMarginMs`. */
const SEARCH_MS_MAX = 3000

// $1: process group, $2: start time of its leader, $3: the tag as an entry of the environment, $4: the file with the end of the
// lease, or nothing, $5: the id of the lease.
const WATCHER = `
has() {
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in *"$1"*) return 0 ;; esac
  done <"$2"
  return 1
}
marked() {
  # Where there is no grep, and where it is that of busybox, which sees a line only up to its first NUL, the shell reads.
  if printf 'a\\0b' | grep -qF b; then grep -lsF "$1" /proc/[0-9]*/environ
  else for each in /proc/[0-9]*/environ; do has "$1" "$each" && echo "$each"; done
  fi
}
# Sets now, in hundredths of a second.
uptime() {
  read -r now _ </proc/uptime
  now=$((\${now%.*}\${now#*.}))
}
end_program() {
  if [ -r /proc/self/stat ]; then
    # The command's name, in parentheses, may hold anything, also the end of a line.
    stat=
    while IFS= read -r line; do stat=$line; done <"/proc/$1/stat"
    set -- "$1" "$2" "$3" \${stat##*) }
    [ "\${23}" = "$2" ] && kill -9 "-$1"
    # A process that becomes another program shows no environment for a moment: so one look that finds nothing is not enough.
    uptime
    nothing=0 until=$((now + ${SEARCH_MS_MAX / 10}))
    while [ $nothing -lt 3 ] && [ $now -le $until ]; do
      nothing=$((nothing + 1))
      for path in $(marked "$3"); do
        path=\${path#/proc/}
        kill -9 "\${path%/environ}" && nothing=0
      done
      [ $nothing -eq 0 ] || sleep 0.05
      uptime
    done
  else
    kill -9 "-$1"
  fi
}
# Sets left, in hundredths of a second. Without a readable file of this lease, the lease is over.
measure() {
  ends=0 lease=
  read -r ends lease <"$1"
  [ "$lease" = "$2" ] || ends=0
  case $ends in '' | *[!0-9]*) ends=0 ;; esac
  uptime
  left=$((ends - now))
}
# A zombie does not run.
runs() {
  state=
  while IFS= read -r line; do state=$line; done <"/proc/$1/stat"
  state=\${state##*) }
  case $state in '' | [ZX]*) return 1 ;; esac
}
number=1
while [ $number -le 64 ]; do
  # KILL and STOP cannot be ignored, CHLD is how the shell learns of its children; 20 is CHLD on macOS, and TSTP here.
  case $number in 9 | 17 | 19 | 20) ;; *) command trap '' $number ;; esac
  number=$((number + 1))
done
trap '' TSTP
# It tells the guard each second that it runs. Without a guard the watcher is about to end, or the guard was killed.
timer() {
  echo timer >&3
  exec 3<&-
  measure "$4" "$5"
  alone=0
  while [ $left -gt 0 ] && [ $alone -lt 4 ]; do
    # The lease may be lost before its end, so the timer looks each second. The guard must see its end at once.
    if [ $left -ge 100 ]; then sleep 1 >/dev/null
    elif [ $left -ge 10 ]; then sleep 0.$left >/dev/null
    else sleep 0.0$left >/dev/null
    fi
    if echo runs; then runs $$ || break
    else
      runs $$ || exit 0
      alone=$((alone + 1))
    fi
    measure "$4" "$5"
  done
  end_program "$1" "$2" "$3"
  echo over
}
guard() {
  echo guard >&3
  exec 3<&-
  while read -r word; do
    [ "$word" != over ] || exit 0
  done
  end_program "$1" "$2" "$3"
}
guard=
if [ -n "$4" ] && [ -r /proc/uptime ]; then
  timer "$@" | guard "$@" &
  guard=$!
  echo watcher >&3
fi
read -r _ <&3
is_dead=$?
# Not waited for, so its number is not reused.
[ -z "$guard" ] || kill -9 "$guard"
[ $is_dead -eq 0 ] && exit 0
end_program "$1" "$2" "$3"`

/** A limit on replacements, for the case that something kills every process of this user. */
const REPLACEMENTS_MAX = 10

/** The parts of a complete leash, as each tells that it runs. */
const PARTS = ['watcher', 'timer', 'guard']

/** A leash that takes longer to start counts as incomplete. */
const COMPLETE_MS_MAX = 10_000

/** Throws if no watcher can be started. */
export function leash(group: ProcessGroup, tag: ProcessTag, deadline: LeaseDeadline | undefined): Leash {
  let isReleased = false
  let replacements = 0
  const args = [String(group.process_group), String(group.start_time), `${tag.variable}=${tag.value}`]
  if (deadline !== undefined) args.push(deadline.file, deadline.lease)
  const watch = (): ChildProcess => {
    const watcher = start(args)
    watcher.once('exit', () => {
      if (isReleased || replacements >= REPLACEMENTS_MAX) return
      replacements += 1
      current = watch()
    })
    return watcher
  }
  let current = watch()
  if (current.pid === undefined) throw providerFailure('crashed', 'cannot start /bin/sh')
  return {
    isComplete: deadline !== undefined && ownIdentity().start_time > 0 ? completes(current) : never,
    release() {
      if (isReleased) return
      isReleased = true
      pipeOf(current)?.end('\n')
    },
  }
}

/** Neither the watcher nor its pipe keeps this process alive. */
function start(args: string[]): ChildProcess {
  const watcher = spawn('/bin/sh', ['-c', WATCHER, 'substrat-leash', ...args], {
    // So that the watcher does not block an unmount.
    cwd: '/',
    // The usual directories come before PATH, which a system with other directories needs.
    env: { PATH: ['/usr/bin:/bin', process.env.PATH || []].flat().join(':'), LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    detached: true,
  })
  watcher.on('error', () => undefined)
  watcher.unref()
  const pipe = pipeOf(watcher)
  pipe?.on('error', () => undefined)
  pipe?.unref()
  return watcher
}

const never = Promise.resolve(false)

/** Resolves once all parts have told that they run, and is false if one does not in time. */
function completes(watcher: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    let told = ''
    const end = (isComplete: boolean): void => {
      clearTimeout(timer)
      resolve(isComplete)
    }
    const timer = setTimeout(end, COMPLETE_MS_MAX, false)
    watcher.once('exit', () => end(false))
    pipeOf(watcher)?.on('data', (bytes: Buffer) => {
      told += bytes.toString()
      if (PARTS.every((part) => told.includes(`${part}\n`))) end(true)
    })
  })
}

type Pipe = NodeJS.ReadWriteStream & { unref(): void }

function pipeOf(watcher: ChildProcess): Pipe | undefined {
  return (watcher.stdio[3] ?? undefined) as Pipe | undefined
}
