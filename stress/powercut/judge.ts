/** Judges a disk after a power cut: at once, and after the next commands and recovery. */
import type { MachineStage } from '../machine/stage.js'
import { type Crash, goOn, ORDERS, type Order, rightAfter } from '../scenarios/contract.js'
import type { Scenario } from '../scenarios/scenario.js'
import type { Facts } from '../scenarios/stage.js'
import type { Desk } from './desk.js'
import type { Image } from './image.js'
import type { Told } from './trace.js'

/** A scenario with its prepared home. */
export interface Plan {
  scenario: Scenario
  stage: MachineStage
  facts: Facts
  argv: string[]
}

export interface Violation {
  order: Order | undefined
  broken: string
}

/** `cuts` is the number of power cuts so far. */
export async function judge(
  desk: Desk,
  plan: Plan,
  disk: Image,
  told: Told,
  cuts: number,
): Promise<Violation[]> {
  const { scenario, facts, stage } = plan
  const crash: Crash = { scenario, facts, crashes: cuts, told: cuts > 1 ? { ...told, isLater: true } : told }
  const comeUp = (): void => {
    desk.comeUp(disk, told.workspace)
    scenario.restore?.(desk.home, facts)
  }
  comeUp()
  const violations: Violation[] = [...rightAfter(crash, desk.home)].map((broken) => ({
    order: undefined,
    broken,
  }))
  for (const [index, order] of ORDERS.entries()) {
    if (index > 0) comeUp()
    for (const broken of await goOn(stage, crash, order)) violations.push({ order, broken })
  }
  return violations
}
