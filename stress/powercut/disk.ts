/**
 * A model of what a disk may hold of a directory, step by step: the current state, the part that a power cut cannot
 * undo, and the pending changes in between.
 *
 * Assumptions: an fsync of a file makes its bytes and size durable, and nothing else. An fsync of a directory makes its
 * entries durable, and nothing else. A rename is atomic: it survives or is lost as a whole, and an fsync of either
 * directory makes it durable. Unsynced changes have no order: each may survive or be lost by itself.
 */
import { basename, dirname } from 'node:path'
import { assert } from '../../src/errors.js'
import { applyChange, type DataChange, type DataOption, optionsOf } from './bytes.js'
import type { Image } from './image.js'

/** One step below the root of the model; paths are relative to it. `make` is an open that may create the file. */
export interface DiskStep {
  point: string
  name: 'make' | 'write' | 'truncate' | 'sync' | 'rename' | 'link' | 'unlink' | 'mkdir' | 'rmdir'
  path: string
  to?: string
  offset?: number
  bytes?: Buffer
}

interface FileNode {
  kind: 'file'
  now: Buffer
  kept: Buffer
}

interface DirectoryNode {
  kind: 'directory'
  now: Map<string, Node>
  kept: Map<string, Node>
}

type Node = FileNode | DirectoryNode

interface EntryChange {
  directory: DirectoryNode
  name: string
  node: Node | undefined
}

/** A change that a power cut may undo, or keep in part. */
export interface Pending {
  point: string
  /** The step and its path, for a report. */
  what: string
  /** Whether an earlier command left it, not the one that is cut. */
  isOld: boolean
  /** The options in the order tried: the first keeps everything, the second nothing. */
  options: readonly DataOption[]
  change: { entries: EntryChange[] } | { file: FileNode; data: DataChange }
}

export class Disk {
  private readonly root: DirectoryNode = newDirectory()
  private waiting: Pending[] = []
  /** Syncs to treat as no-ops, as if the program had left them out. */
  ignores: (point: string) => boolean = () => false

  /** The model of a directory that is fully on disk. */
  static of(image: Image): Disk {
    const disk = new Disk()
    for (const [path, bytes] of image) {
      if (bytes === undefined) disk.apply({ point: '', name: 'mkdir', path })
      else {
        disk.apply({ point: '', name: 'make', path })
        disk.apply({ point: '', name: 'write', path, offset: 0, bytes })
      }
    }
    disk.keepAll()
    return disk
  }

  get pending(): readonly Pending[] {
    return this.waiting
  }

  /** Marks all pending changes as leftovers of earlier commands. */
  age(): void {
    this.waiting = this.waiting.map((pending) => ({ ...pending, isOld: true }))
  }

  apply(step: DiskStep): void {
    const { name, path, point, offset = 0 } = step
    if (name === 'make') this.make(step, newFile())
    else if (name === 'mkdir') this.make(step, newDirectory())
    else if (name === 'write') this.changeData(step, { kind: 'write', offset, bytes: step.bytes as Buffer })
    else if (name === 'truncate') this.changeData(step, { kind: 'truncate', size: offset })
    else if (name === 'rename') this.rename(step)
    else if (name === 'link') this.link(step)
    else if (name === 'unlink' || name === 'rmdir') this.remove(step)
    else if (!this.ignores(point)) this.sync(path)
  }

  /** The disk if each pending change takes its chosen option. */
  image(chosen: (pending: Pending) => DataOption): Image {
    const entries = new Map<DirectoryNode, Map<string, Node>>()
    const bytes = new Map<FileNode, Buffer>()
    for (const pending of this.waiting) {
      const option = chosen(pending)
      const { change } = pending
      if ('file' in change)
        bytes.set(change.file, applyChange(bytes.get(change.file) ?? change.file.kept, change.data, option))
      else if (option === 'whole')
        for (const { directory, name, node } of change.entries) {
          const names = entries.get(directory) ?? new Map(directory.kept)
          entries.set(directory, names)
          put(names, name, node)
        }
    }
    const image: Image = new Map()
    const walk = (directory: DirectoryNode, prefix: string): void => {
      for (const [name, node] of entries.get(directory) ?? directory.kept) {
        image.set(prefix + name, node.kind === 'file' ? (bytes.get(node) ?? node.kept) : undefined)
        if (node.kind === 'directory') walk(node, `${prefix}${name}/`)
      }
    }
    walk(this.root, '')
    return image
  }

  /** The state that a running system sees. */
  now(): Image {
    return this.image(() => 'whole')
  }

  /** The steps of a recursive removal. */
  removals(path: string, point: string): DiskStep[] {
    const node = this.find(path)
    if (node === undefined) return []
    if (node.kind === 'file') return [{ point, name: 'unlink', path }]
    const within = [...node.now.keys()].flatMap((name) => this.removals(`${path}/${name}`, point))
    return [...within, { point, name: 'rmdir', path }]
  }

  private make(step: DiskStep, node: Node): void {
    const parent = this.parentOf(step.path)
    const name = basename(step.path)
    if (parent === undefined || parent.now.has(name)) return
    this.changeEntries(step, [{ directory: parent, name, node }])
  }

  private rename(step: DiskStep): void {
    const { path, to = '' } = step
    const node = this.find(path)
    const [from, into] = [this.parentOf(path), this.parentOf(to)]
    if (node === undefined || from === undefined || into === undefined) return
    this.changeEntries(step, [
      { directory: from, name: basename(path), node: undefined },
      { directory: into, name: basename(to), node },
    ])
  }

  private link(step: DiskStep): void {
    const { path, to = '' } = step
    const node = this.find(path)
    const into = this.parentOf(to)
    if (node === undefined || into === undefined || into.now.has(basename(to))) return
    this.changeEntries(step, [{ directory: into, name: basename(to), node }])
  }

  private remove(step: DiskStep): void {
    const parent = this.parentOf(step.path)
    const name = basename(step.path)
    if (parent?.now.has(name) === true)
      this.changeEntries(step, [{ directory: parent, name, node: undefined }])
  }

  private changeEntries(step: DiskStep, entries: EntryChange[]): void {
    for (const { directory, name, node } of entries) put(directory.now, name, node)
    const { point, name, path } = step
    this.waiting.push({
      point,
      what: `${name} ${path}`,
      isOld: false,
      options: ['whole', 'lost'],
      change: { entries },
    })
  }

  private changeData({ point, name, path }: DiskStep, data: DataChange): void {
    const file = this.find(path)
    assert(file?.kind === 'file', `${point} writes to ${path}, which the model does not know`)
    const options = optionsOf(data, file.now)
    file.now = applyChange(file.now, data, 'whole')
    this.waiting.push({ point, what: `${name} ${path}`, isOld: false, options, change: { file, data } })
  }

  private sync(path: string): void {
    const node = path === '' ? this.root : this.find(path)
    if (node?.kind === 'file') this.syncFile(node)
    else if (node !== undefined) this.syncDirectory(node)
  }

  private syncFile(file: FileNode): void {
    file.kept = file.now
    this.waiting = this.waiting.filter(({ change }) => !('file' in change && change.file === file))
  }

  private syncDirectory(directory: DirectoryNode): void {
    for (const pending of [...this.waiting]) {
      const { change } = pending
      if ('file' in change || !change.entries.some((entry) => entry.directory === directory)) continue
      for (const entry of change.entries) this.keepEntry(entry, pending)
      this.waiting.splice(this.waiting.indexOf(pending), 1)
    }
    this.waiting = this.waiting.filter(({ change }) => 'file' in change || change.entries.length > 0)
  }

  /** Earlier changes of that name no longer matter, whether they survived or not. */
  private keepEntry({ directory, name, node }: EntryChange, by: Pending): void {
    put(directory.kept, name, node)
    const earlier = this.waiting.slice(0, this.waiting.indexOf(by))
    for (const { change } of earlier) {
      if ('file' in change) continue
      change.entries = change.entries.filter((entry) => entry.directory !== directory || entry.name !== name)
    }
  }

  private keepAll(): void {
    for (const { change } of this.waiting) {
      if ('file' in change) change.file.kept = change.file.now
      else for (const { directory, name, node } of change.entries) put(directory.kept, name, node)
    }
    this.waiting = []
  }

  private find(path: string): Node | undefined {
    let node: Node | undefined = this.root
    for (const name of path.split('/')) node = node?.kind === 'directory' ? node.now.get(name) : undefined
    return node
  }

  private parentOf(path: string): DirectoryNode | undefined {
    const parent = dirname(path) === '.' ? this.root : this.find(dirname(path))
    return parent?.kind === 'directory' ? parent : undefined
  }
}

function newFile(): FileNode {
  return { kind: 'file', now: Buffer.alloc(0), kept: Buffer.alloc(0) }
}

function newDirectory(): DirectoryNode {
  return { kind: 'directory', now: new Map(), kept: new Map() }
}

function put(names: Map<string, Node>, name: string, node: Node | undefined): void {
  if (node === undefined) names.delete(name)
  else names.set(name, node)
}
