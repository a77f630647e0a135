/**
 * A machine for crashes. Processes of the real CLI run on one home within this process, so thousands of kills take
 * seconds. A power cut kills all of them and restarts the kernel.
 *
 * It does not cover interleavings between two system calls of one step, or external programs. The kill sweep runs real
 * processes for that.
 */
import { dirname, join } from 'node:path'
import { clock } from '../../src/clock.js'
import { ownIdentity } from '../../src/host/identity.js'
import { randomUuid } from '../../src/start/random.js'
import { runCommand } from './commands.js'
import { closeDescriptor, install } from './patches.js'
import { type Ended, LabProcess, type OnStep } from './process.js'
import { restartUptime } from './virtual-time.js'

export class Machine {
  private readonly processes = new Set<LabProcess>()

  /** One machine at a time: the home is in the environment, which all share. */
  constructor(readonly home: string) {
    install()
    process.env.SUBSTRAT_HOME = home
    process.env.SUBSTRAT_PROVIDER = 'scripted'
    // The user of the lab may have installed plugins, which `doctor` would report.
    process.env.SUBSTRAT_DATA_DIR = join(dirname(home), 'user', 'data')
  }

  /** Starts `substrat ARGV`, and calls `onStep` before each disk step. */
  start(argv: string[], onStep?: OnStep): LabProcess {
    return this.startWork(argv, () => runCommand(argv), onStep)
  }

  /** Starts product code as a process. `name` is shown as its command. */
  startWork(name: string[], work: () => Promise<void>, onStep: OnStep = () => undefined): LabProcess {
    const started = new LabProcess(name, clock.now(), onStep, closeDescriptor)
    this.processes.add(started)
    void started.ended.then(() => this.processes.delete(started))
    return started.start(work)
  }

  run(argv: string[], onStep?: OnStep): Promise<Ended> {
    return this.start(argv, onStep).ended
  }

  /** Kills all processes and changes the boot id. The caller decides what the disk keeps. */
  powerCut(): void {
    for (const process of this.processes) process.kill()
    ownIdentity().kernel_boot_id = randomUuid()
    restartUptime()
  }
}
