/** Rule 7: a write that fails, or takes a part, leaves the session as it was. */
import type { Mutant } from '../mutant.js'

export const FAILED_WRITE: Mutant[] = [
  {
    name: 'a short write counts as a whole one',
    file: 'host/disk/io.ts',
    from: '    written += count\n',
    to: '    written = bytes.length\n',
    suites: ['host/disk/io', 'storage/log/log'],
  },
  {
    name: 'a write that takes nothing counts as done',
    file: 'host/disk/io.ts',
    from: `      throw failure(operation, Object.assign(new Error('nothing was written'), { code: 'ENOSPC' }))\n`,
    to: '      return\n',
    suites: ['host/disk/io', 'storage/log/log'],
  },
  {
    name: 'what was written of a batch is not taken back',
    file: 'storage/log/log.ts',
    from: '      this.takeBack()\n',
    to: '',
    suites: ['storage/log/log'],
  },
  {
    name: 'behind what could not be taken back it may be appended',
    file: 'storage/log/log.ts',
    from: `the next opener cuts it before it appends.\n      this.isBroken = true`,
    to: 'the next opener cuts it before it appends.',
    suites: ['storage/log/log'],
  },
  {
    name: 'a batch that failed is taken for one',
    file: 'storage/log/log.ts',
    from: '      this.takeBack()\n      throw error',
    to: '      this.takeBack()\n      return',
    suites: ['storage/log/log'],
  },
  {
    name: 'an agent is opened without its marker',
    file: 'session/session.ts',
    from: '    store.mark(agentId)\n',
    to: '',
    suites: ['session/session'],
  },
  {
    name: 'what cannot be written is left beside the file',
    file: 'host/disk/replace.ts',
    from: '  } catch (error) {\n    discard(point, temp)\n    throw error\n  } finally {',
    to: '  } finally {',
    suites: ['host/disk/replace'],
  },
  {
    name: 'what cannot be renamed is left beside the file',
    file: 'host/disk/replace.ts',
    from: '  } catch (error) {\n    discard(point, temp)\n    throw error\n  }\n  if (options',
    to: '  } finally {\n  }\n  if (options',
    suites: ['host/disk/replace'],
  },
  {
    name: 'a spawn that fails leaves its cradle',
    file: 'storage/birth.ts',
    from: `    attempt(() => io.removeTree('spawn.remove', cradle.root))\n`,
    to: '',
    suites: ['storage/birth'],
  },
  {
    name: 'a spawn that fails leaves its marker',
    file: 'storage/birth.ts',
    from: `    attempt(() => io.unlink('marker.unlink', marker))\n`,
    to: '',
    suites: ['storage/birth'],
  },
  {
    name: 'a spawn that fails keeps its lock',
    file: 'storage/birth.ts',
    from: `    attempt(() => io.unlink('marker.unlink', marker))\n    closeAll(lock, log)\n`,
    to: `    attempt(() => io.unlink('marker.unlink', marker))\n`,
    suites: ['storage/birth'],
  },
  {
    name: 'a snapshot that cannot be written is a failure of the command',
    file: 'session/session.ts',
    from: '      if (!(error instanceof SubstratError)) throw error\n',
    to: '      throw error\n',
    suites: ['session/session'],
  },
  {
    name: 'a full disk keeps locks from being taken',
    file: 'storage/locks/lease.ts',
    from: `  } catch {
    // The identity is for people. On a full disk the lock is as good without it, and the next write says what is wrong.
  }`,
    to: '  } finally {\n  }',
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a file of the user that has taken the place of a device is one',
    file: 'files/user-files.ts',
    from: "if (facts !== undefined && facts.kind !== 'file')",
    to: "if (facts !== undefined && facts.kind === 'directory')",
    suites: ['files/user-files'],
  },
  {
    name: 'a file of the user takes the place of a link that leads to none',
    file: 'files/user-files.ts',
    from: "if (found === undefined && io.lstatIfThere('user_file.lstat', path)?.kind === 'link')",
    to: 'if (false)',
    suites: ['files/user-files'],
  },
]
