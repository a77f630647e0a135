/**
 * The source of a CommonJS module within the function that Node makes of it. The wrapping is part of the bytes that are read, and the
 * memory of the bytes serves again for the compiled code: a new megabyte takes the kernel longer than its content takes to copy.
 */
import { fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { closeFile } from './close-file.js'
import { crc32 } from './crc32.js'

const HEAD = '(function (exports, require, module, __filename, __dirname) {'
const TAIL = '\n})'

/** The build writes plain ASCII, which Node decodes fastest as Latin-1. */
export type SourceEncoding = 'latin1' | 'utf8'

export class WrappedSource {
  private constructor(
    /** For `Script`. */
    readonly text: string,
    /** The checksum of the file. */
    readonly crc: number,
    private memory: Buffer,
  ) {}

  /** Throws a system error. */
  static read(file: string, encoding: SourceEncoding): WrappedSource {
    const bytes = readFile(
      file,
      (size) => Buffer.allocUnsafeSlow(HEAD.length + size + TAIL.length),
      HEAD.length,
    )
    const end = bytes.length
    const memory = Buffer.from(bytes.buffer, 0, end + TAIL.length)
    memory.write(HEAD, 0, 'latin1')
    memory.write(TAIL, end, 'latin1')
    return new WrappedSource(memory.toString(encoding), crc32(memory.subarray(HEAD.length, end)), memory)
  }

  startsWith(text: string): boolean {
    return this.text.startsWith(text, HEAD.length)
  }

  /** To be called once the code is restored. */
  releaseMemory(): void {
    this.memory = Buffer.alloc(0)
  }

  /** The content of another file, until the next call. Throws a system error. */
  readInItsMemory(file: string): Buffer {
    return readFile(file, (size) => (size <= this.memory.length ? this.memory : Buffer.allocUnsafeSlow(size)))
  }
}

/** Reads the file into the memory from byte `from`. Returns the memory up to the end of the content. */
function readFile(file: string, memoryFor: (size: number) => Buffer, from = 0): Buffer {
  const fd = openSync(file, 'r')
  try {
    const { size } = fstatSync(fd)
    // A pipe does not say its size.
    if (size === 0) return copied(readFileSync(fd), memoryFor, from)
    const memory = memoryFor(size)
    let end = from
    while (end < from + size) {
      const count = readSync(fd, memory, end, from + size - end, null)
      if (count === 0) break
      end += count
    }
    return memory.subarray(0, end)
  } finally {
    closeFile(fd)
  }
}

function copied(content: Buffer, memoryFor: (size: number) => Buffer, from: number): Buffer {
  const memory = memoryFor(content.length)
  return memory.subarray(0, from + content.copy(memory, from))
}
