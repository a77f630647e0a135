/** Processes left by a dead turn are killed, and no others. */
import type { Mutant } from '../mutant.js'

export const LEFT_RUNNING: Mutant[] = [
  {
    name: 'recovery does not kill the process groups of a dead turn',
    edits: [
      [
        'killOrphanedGroup(group, run.run_id, home)',
        "killOrphanedGroup(group, 'nobody', home).then(() => 'gone')",
      ],
    ],
    suites: ['recovery/settle-programs', 'recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'recovery does not kill the program of a dead turn',
    edits: [
      ['[run.process, ...run.calls.map(({ group }) => group)]', '[...run.calls.map(({ group }) => group)]'],
    ],
    suites: ['recovery/settle#is dead before its provider', 'recovery/settle-killed'],
  },
  {
    name: 'recovery does not kill the tools of a dead turn',
    edits: [['[run.process, ...run.calls.map(({ group }) => group)]', '[run.process]']],
    suites: ['recovery/settle-programs'],
  },
  {
    name: 'recovery does not kill the tool servers of a dead turn',
    edits: [
      [
        `const groups = [
           ...(isOpen ? [run.process, ...run.calls.map(({ group }) => group)] : []),
           ...run.servers,
         ].filter((group) => group !== null && !isSameGroup(group, ended)) as ProcessGroup[]`,
        `const groups = [
           ...(isOpen ? [run.process, ...run.calls.map(({ group }) => group)] : []),
         ].filter((group) => group !== null && !isSameGroup(group, ended)) as ProcessGroup[]`,
      ],
    ],
    suites: ['recovery/settle-programs'],
  },
  {
    name: 'recovery does not kill the detached children of a dead program',
    edits: [['await killEscaped(run.process, tagOfRun(run.run_id, home))', '(tagOfRun).length * 0']],
    suites: ['recovery/settle-programs#other process group'],
  },
  {
    name: 'recovery does not kill the detached children of a killed tool',
    edits: [['if (group !== null && tag !== undefined) killed += await killEscaped(group, tag)', ';']],
    suites: ['recovery/settle-programs#other process group'],
  },
  {
    name: 'recovery does not stop the server that a dead turn had kept',
    edits: [['await stopServerOfTurn(session, options)', '{ isLeft: false, ended: undefined }']],
    suites: ['recovery/settle-programs#had kept is stopped'],
  },
  {
    name: 'the programs of a holder outlive its lease',
    edits: [['if (deadline !== undefined) args.push(deadline.file, deadline.lease)', ';']],
    suites: ['store-postgres/leash#when the lease of a stopped holder'],
  },
  {
    name: 'recovery kills a process of another run',
    edits: [['tag === undefined || hasTag(pid, tag)', 'tag !== null']],
    suites: ['provider/program#no process of another run', 'recovery/settle-programs'],
  },
  {
    name: 'recovery kills a process older than its record',
    edits: [
      [
        `processGroup(pid) === group.process_group &&
         (processStartTime(pid) ?? 0) >= group.start_time`,
        'processGroup(pid) === group.process_group',
      ],
    ],
    suites: ['provider/program#no process that is older', 'recovery/settle-programs'],
  },
  {
    name: 'after a reboot recovery kills processes by their old numbers',
    edits: [
      [
        `const place = placeOf(group)
         if (place !== 'here') return place === 'past' ? 'gone' : 'elsewhere'`,
        'const place = placeOf(group)',
      ],
    ],
    suites: ['provider/program#no process after a reboot'],
  },
  {
    name: 'recovery continues beside a program on another host',
    edits: [["if (row === 'elsewhere' || row === 'leashed') {", 'if (false) {']],
    suites: ['recovery/other-host'],
  },
  {
    name: 'a kept server on another host counts as gone',
    edits: [
      [
        `const place = placeOfGroup(store, state, server.group)
         if (place !== 'here') return place === 'past' ? 'gone' : 'elsewhere'`,
        'const place = placeOfGroup(store, state, server.group)',
      ],
    ],
    suites: ['recovery/other-host#a kept server blocks'],
  },
  {
    name: 'a clone counts as this machine before a restart',
    edits: [["seenAt !== undefined && isSinceBoot(Date.parse(seenAt)) ? 'elsewhere' : 'past'", "'past'"]],
    suites: ['host/whereabouts'],
  },
  {
    name: 'recovery kills the same numbers in another pid namespace',
    edits: [["if (group.pid_namespace !== own.pid_namespace) return 'foreign'", ';']],
    suites: ['provider/program#no process after a reboot'],
  },
  {
    name: 'recovery kills detached processes from another pid namespace',
    edits: [
      [
        'group.kernel_boot_id !== own.kernel_boot_id || group.pid_namespace !== own.pid_namespace',
        'group.kernel_boot_id === own.pid_namespace',
      ],
    ],
    suites: ['provider/program'],
  },
  {
    name: 'the leash spares a process that left the process group',
    edits: [['kill -9 "\\${path%/environ}" && nothing=0', 'false "\\${path%/environ}" && nothing=0']],
    suites: ['provider/leash#the whole program dies'],
  },
  {
    name: 'a signal to every process ends the leash',
    edits: [
      [
        "case $number in 9 | 17 | 19 | 20) ;; *) command trap '' $number ;; esac",
        "case $number in 9 | 15 | 17 | 19 | 20) ;; *) command trap '' $number ;; esac",
      ],
    ],
    suites: ['provider/leash#as in a shutdown'],
  },
  {
    name: 'the leash kills a process group that reuses the number',
    edits: [['[ "\\${23}" = "$2" ] && kill -9 "-$1"', '[ "\\${23}" = "$2" ] || true && kill -9 "-$1"']],
    suites: ['provider/leash#does not kill a group'],
  },
  {
    name: 'the timer of a leash does not end the program',
    edits: [
      [
        `done
         end_program "$1" "$2" "$3"
         echo over`,
        `done
         echo over`,
      ],
    ],
    suites: ['store-postgres/leash#when the lease of a stopped holder'],
  },
  {
    name: 'the guard of a leash does not end the program after the death of its timer',
    edits: [['[ "$word" != over ] || exit 0', 'exit 0; [ "$word" != over ] || exit 0']],
    suites: ['store-postgres/leash#is killed alone'],
  },
  {
    name: 'a turn is taken over before the margin after its lease',
    edits: [['Math.max(0, limits.leashMarginMs - soleMs)', '0']],
    suites: ['store-postgres/takeover#not before the margin'],
  },
  {
    name: 'a program whose record names no lease is taken over',
    edits: [['takesOver && group.lease !== undefined', 'takesOver']],
    suites: ['recovery/other-host#on a leash'],
  },
  {
    name: 'a kept server is not released from the leash',
    edits: [
      [
        `if (stays && this.isKept && isServerAlive(store.address, warm) && isDone(touch)) {
           this.leash?.release()`,
        'if (stays && this.isKept && isServerAlive(store.address, warm) && isDone(touch)) {',
      ],
    ],
    suites: ['provider/kept-server#after a turn that kept the server'],
  },
  {
    name: 'a reused kept server is not on the leash',
    edits: [['this.leash = leash(warm.group, tagOf(warm.server_id), this.session.leaseDeadline())', ';']],
    suites: ['provider/kept-server#in use again'],
  },
  {
    name: 'recovery kills detached processes of another run',
    edits: [
      [
        'pid !== process.pid && hasTag(pid, tag)',
        'pid !== process.pid && ((pid, { variable, value, home }: ProcessTag) => environmentOf(pid, variable) !== undefined)(pid, tag)',
      ],
    ],
    suites: ['provider/program#started in other sessions'],
  },
]
