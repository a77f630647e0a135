/**
 * The tool of a turn writes the time every few milliseconds as long as it lives. All hosts of the lab have one kernel, and so
 * one clock: two tools of one agent that lived at the same moment are found, also if neither had the time to say that it ended.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// $ARGV[0]: the directory of the agent, $ARGV[1]: how long it lives, in seconds. It ignores every signal that it can.
const TOOL = `
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);
$SIG{$_} = 'IGNORE' for qw(TERM INT HUP QUIT);
my $begin = clock_gettime(CLOCK_MONOTONIC);
open(my $out, '>>', "$ARGV[0]/$begin-" . int(rand(1e9))) or die;
$out->autoflush(1);
while ((my $now = clock_gettime(CLOCK_MONOTONIC)) < $begin + $ARGV[1]) { print $out "$now\\n"; sleep 0.005 }
print "done\\n"
`

interface Life {
  file: string
  first: number
  last: number
}

export class Beats {
  private readonly tool: string

  constructor(private readonly directory: string) {
    mkdirSync(directory)
    this.tool = join(directory, 'tool.pl')
    writeFileSync(this.tool, TOOL)
  }

  /** The command of the agent's tool. */
  command(agent: string, seconds: number): string {
    mkdirSync(join(this.directory, agent), { recursive: true })
    return `perl ${this.tool} ${join(this.directory, agent)} ${seconds}`
  }

  /** How many tools lived. */
  count(agents: string[]): number {
    return agents.reduce((sum, agent) => sum + this.lives(agent).length, 0)
  }

  /** Sentences about tools of one agent that lived at the same moment. */
  *overlaps(agents: string[]): Iterable<string> {
    for (const agent of agents) {
      const lives = this.lives(agent).sort((a, b) => a.first - b.first)
      let longest = lives[0]
      for (const life of lives.slice(1)) {
        if (longest !== undefined && life.first <= longest.last)
          yield `tools of two leases never overlap: ${agent} for ${(Math.min(longest.last, life.last) - life.first).toFixed(2)} s, ${life.file} and ${longest.file}`
        if (longest === undefined || life.last > longest.last) longest = life
      }
    }
  }

  private lives(agent: string): Life[] {
    const folder = join(this.directory, agent)
    if (!existsSync(folder)) return []
    return readdirSync(folder).flatMap((file) => {
      const beats = readFileSync(join(folder, file), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
      const [first, last] = [beats[0], beats.at(-1)].map(Number)
      return first === undefined || last === undefined || Number.isNaN(first) ? [] : [{ file, first, last }]
    })
  }
}
