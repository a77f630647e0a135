/**
 * What commands did to the disk, step by step, and what each had said by then.
 *
 * Before each step the model, to which all steps so far were applied, is held against the real directory, byte by byte:
 * a change that no step tells of is found where it happens.
 */
import { relative } from 'node:path'
import type { Operation } from '../../src/host/disk/operation.js'
import type { Told as ScenarioTold } from '../scenarios/scenario.js'
import { Disk, type DiskStep } from './disk.js'
import { differences, type Image, readImage } from './image.js'

/** What the world knows at a time: what the command had printed, and what its turn did outside the home. */
export interface Told extends ScenarioTold {
  workspace: Image
}

export interface TracedStep {
  step: DiskStep
  /** What was known just before it. */
  before: Told
}

export class Trace {
  readonly steps: TracedStep[] = []
  /** Steps before this are of the preparation. */
  preparedSteps = 0
  private readonly model = new Disk()
  private readonly untold: string[] = []

  constructor(
    private readonly root: string,
    private readonly told: () => Told,
    private readonly isVerified = true,
  ) {
    for (const step of makingOf(readImage(root))) this.model.apply(step)
  }

  /** Told of each step before it happens. */
  readonly onStep = (operation: Operation): undefined => {
    const steps = stepsOf(operation, this.root, this.model)
    if (steps.length === 0) return undefined
    this.verify()
    const before = this.told()
    for (const step of steps) {
      this.steps.push({ step, before })
      this.model.apply(step)
    }
    return undefined
  }

  /** Throws where the directory was changed by anything that is no step. */
  end(): void {
    this.verify()
    if (this.untold.length > 0) throw new Error(`changes that no step tells of: ${this.untold.join('; ')}`)
  }

  private verify(): void {
    if (!this.isVerified || this.untold.length > 0) return
    const paths = differences(this.model.now(), readImage(this.root))
    const after = this.steps.at(-1)?.step
    if (paths.length > 0) this.untold.push(`${paths.join(', ')} after ${after?.point} ${after?.path}`)
  }
}

function makingOf(image: Image): DiskStep[] {
  return [...image].flatMap(([path, bytes]): DiskStep[] =>
    bytes === undefined
      ? [{ point: '', name: 'mkdir', path }]
      : [
          { point: '', name: 'make', path },
          { point: '', name: 'write', path, offset: 0, bytes },
        ],
  )
}

const MAKES = new Set(['create', 'create_exclusive', 'append'])

/** Empty for what changes nothing on the disk, or nothing below the root. */
export function stepsOf(operation: Operation, root: string, model: Disk): DiskStep[] {
  const { point, name, mode, offset = 0, bytes } = operation
  const path = relative(root, operation.path)
  if (path.startsWith('..')) return []
  switch (name) {
    case 'read':
      return []
    case 'open':
      return MAKES.has(mode ?? '') ? [{ point, name: 'make', path }] : []
    case 'write':
      // One without bytes is of the file's times alone.
      return bytes === undefined ? [] : [{ point, name, path, offset, bytes: Buffer.from(bytes) }]
    case 'truncate':
      return [{ point, name, path, offset }]
    case 'fsync':
    case 'fdatasync':
    case 'sync_directory':
      return [{ point, name: 'sync', path }]
    case 'rename':
    case 'link':
      return [{ point, name, path, to: relative(root, operation.to as string) }]
    case 'rmdir':
      return model.removals(path, point)
    default:
      return [{ point, name, path }]
  }
}
