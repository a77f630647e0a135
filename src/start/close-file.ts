import { closeSync } from 'node:fs'

/**
 * Closes a descriptor. Its errors, such as EIO, are ignored: durable content was fsynced before, and the kernel releases the
 * descriptor all the same. Only EBADF is thrown, because then something else has closed it: a bug.
 */
export function closeFile(fd: number): void {
  try {
    closeSync(fd)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EBADF') throw error
  }
}
