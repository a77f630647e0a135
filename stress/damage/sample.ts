/** A sample of the damages to the home of one seed. The seed also picks the bytes and the commands. */
import { MachineLab } from '../machine/lab.js'
import { commandsFor } from './answers.js'
import { damagesOf } from './damages.js'
import { makeHome } from './home.js'
import { describeViolations } from './report.js'
import { Trials } from './trial.js'

export interface Sampled {
  violations: string[]
  count: number
}

/** Every damage that is not about bytes, and each `stride`th of the others. */
export async function sample(seed: number, stride: number): Promise<Sampled> {
  const lab = MachineLab.open()
  try {
    const home = await makeHome(lab, seed)
    const trials = await Trials.open(lab, home)
    let index = seed
    let count = 0
    for (const damage of damagesOf(home, { allBits: false })) {
      index += 1
      if (index % stride !== 0 && damage.range !== undefined) continue
      count += 1
      await trials.run(damage, commandsFor(damage, index))
    }
    return { violations: describeViolations(trials), count }
  } catch (error) {
    throw new Error(`the sample of seed ${seed} could not be taken`, { cause: error })
  } finally {
    lab.close()
  }
}
