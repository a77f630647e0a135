/**
 * A trace of the disk steps of commands, and of their output so far. Before each step the trace compares the model with
 * the real directory, byte by byte. It so finds a change without a step where it happens.
 */
import { relative } from 'node:path'
import type { Operation } from '../../src/host/disk/operation.js'
import type { Told as ScenarioTold } from '../scenarios/scenario.js'
import { Disk, type DiskStep } from './disk.js'
import { differences, type Image, readImage } from './image.js'

/** The observable facts at a moment: the command's output, and the effects of its turn outside the home. */
export interface Told extends ScenarioTold {
  workspace: Image
}

export interface TracedStep {
  step: DiskStep
  /** The knowledge just before this step. */
  before: Told
}

export interface Steps {
  readonly steps: TracedStep[]
  /** The steps before this one belong to the preparation. */
  readonly preparedSteps: number
}

export class Trace implements Steps {
  readonly steps: TracedStep[] = []
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

  /** Called before each step. */
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

  /** Throws if the directory changed without a step. */
  end(): void {
    this.verify()
    if (this.untold.length > 0) throw new Error(`changes without a step: ${this.untold.join('; ')}`)
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

/** Empty for an operation that changes nothing below the root. */
export function stepsOf(operation: Operation, root: string, model: Disk): DiskStep[] {
  const { point, name, mode, offset = 0, bytes } = operation
  const path = relative(root, operation.path)
  if (path.startsWith('..')) return []
  switch (name) {
    case 'read':
    case 'lock':
      return []
    case 'open':
      return MAKES.has(mode ?? '') ? [{ point, name: 'make', path }] : []
    case 'write':
      // Without bytes, only the file's times change.
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
