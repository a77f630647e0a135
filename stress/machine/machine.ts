/**
 * A machine for crashes: processes of the real CLI on one home, all within this process, so that thousands of deaths take
 * seconds. A power cut is the death of all of them, and a new start of the kernel.
 *
 * What it cannot show: what happens between two system calls of one step, and programs that are no code of ours. The kill
 * sweep has real processes for that.
 */
import { dirname, join } from 'node:path'
import { clock } from '../../src/clock.js'
import { ownIdentity } from '../../src/host/identity.js'
import { randomUuid } from '../../src/start/random.js'
import { runCommand } from './commands.js'
import { closeDescriptor, install } from './patches.js'
import { type Ended, LabProcess, type OnStep } from './process.js'

export class Machine {
  private readonly processes = new Set<LabProcess>()

  /** One at a time: the home stands in the environment, which all share. */
  constructor(readonly home: string) {
    install()
    process.env.SUBSTRAT_HOME = home
    // Whoever runs a lab may have installed plugins, of which `doctor` would speak.
    process.env.SUBSTRAT_DATA_DIR = join(dirname(home), 'user', 'data')
  }

  /** Starts `substrat ARGV`. `onStep` is asked before each step on the disk. */
  start(argv: string[], onStep?: OnStep): LabProcess {
    return this.startWork(argv, () => runCommand(argv), onStep)
  }

  /** Starts code of the product as a process. `name`: as it is shown. */
  startWork(name: string[], work: () => Promise<void>, onStep: OnStep = () => undefined): LabProcess {
    const started = new LabProcess(name, clock.now(), onStep, closeDescriptor)
    this.processes.add(started)
    void started.ended.then(() => this.processes.delete(started))
    return started.start(work)
  }

  run(argv: string[], onStep?: OnStep): Promise<Ended> {
    return this.start(argv, onStep).ended
  }

  /** All processes are dead, and the kernel that comes up is another one. What the disk keeps is for the caller to say. */
  powerCut(): void {
    for (const process of this.processes) process.kill()
    ownIdentity().kernel_boot_id = randomUuid()
  }
}
