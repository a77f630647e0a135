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
 * process is stopped: another host may continue the agent then. The timer ends with its watcher.
 *
 * Without /proc (macOS) there is no timer, the watcher kills the group by its number, and no process that has left the group.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { ProcessGroup } from '../schema/types.js'
import type { LeaseDeadline } from '../storage/store.js'
import { providerFailure } from './failure.js'
import type { ProcessTag } from './process-group.js'

export interface Leash {
  /** Call it when the program has ended or may outlive this process. */
  release(): void
}

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
end_program() {
  if [ -r /proc/self/stat ]; then
    # The command's name, in parentheses, may hold anything, also the end of a line.
    stat=
    while IFS= read -r line; do stat=$line; done <"/proc/$1/stat"
    set -- "$1" "$2" "$3" \${stat##*) }
    [ "\${23}" = "$2" ] && kill -9 "-$1"
    # A process that becomes another program shows no environment for a moment: so one look that finds nothing is not enough.
    nothing=0 looks=0
    while [ $nothing -lt 3 ] && [ $looks -lt 300 ]; do
      nothing=$((nothing + 1)) looks=$((looks + 1))
      for path in $(marked "$3"); do
        path=\${path#/proc/}
        kill -9 "\${path%/environ}" && nothing=0
      done
      [ $nothing -eq 0 ] || sleep 0.05
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
  read -r now _ </proc/uptime
  left=$((ends - \${now%.*}\${now#*.}))
}
number=1
while [ $number -le 64 ]; do
  # KILL and STOP cannot be ignored, CHLD is how the shell learns of its children; 20 is CHLD on macOS, and TSTP here.
  case $number in 9 | 17 | 19 | 20) ;; *) command trap '' $number ;; esac
  number=$((number + 1))
done
trap '' TSTP
timer=
if [ -n "$4" ] && [ -r /proc/uptime ]; then
  (
    exec 3<&-
    measure "$4" "$5"
    while [ $left -gt 0 ]; do
      # The lease may be lost before its end, so the timer looks each second.
      if [ $left -ge 100 ]; then sleep 1
      elif [ $left -ge 10 ]; then sleep 0.$left
      else sleep 0.0$left
      fi
      kill -0 $$ || exit 0
      measure "$4" "$5"
    done
    end_program "$1" "$2" "$3"
  ) &
  timer=$!
fi
read -r _ <&3
is_dead=$?
# Not waited for, so its number is not reused.
[ -z "$timer" ] || kill -9 "$timer"
[ $is_dead -eq 0 ] && exit 0
end_program "$1" "$2" "$3"`

/** A limit on replacements, for the case that something kills every process of this user. */
const REPLACEMENTS_MAX = 10

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

type Pipe = NodeJS.WritableStream & { unref(): void }

function pipeOf(watcher: ChildProcess): Pipe | undefined {
  return (watcher.stdio[3] ?? undefined) as Pipe | undefined
}
