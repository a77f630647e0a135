/** Rule 7: a failed or short write leaves the session unchanged. */
import type { Mutant } from '../mutant.js'

export const FAILED_WRITE: Mutant[] = [
  {
    name: 'a short write counts as complete',
    edits: [['written += count', 'written = bytes.length']],
    suites: ['host/disk/io', 'storage/log/log'],
  },
  {
    name: 'a write of zero bytes counts as done',
    edits: [
      [
        "throw failure(operation, Object.assign(new Error('nothing was written'), { code: 'ENOSPC' }))",
        'return',
      ],
    ],
    suites: ['host/disk/io', 'storage/log/log'],
  },
  {
    name: 'a partly written batch is not cut from the log',
    edits: [
      [
        `} catch (error) {
           this.takeBack()`,
        '} catch (error) {',
      ],
    ],
    suites: ['storage/log/log'],
  },
  {
    name: 'the writer appends after bytes that it could not cut',
    edits: [
      [
        `this.isBroken = true
         }`,
        '}',
      ],
    ],
    suites: ['storage/log/log'],
  },
  {
    name: 'a failed batch counts as written',
    edits: [
      [
        `this.takeBack()
         throw error`,
        `this.takeBack()
         return`,
      ],
    ],
    suites: ['storage/log/log'],
  },
  {
    name: 'opening an agent does not mark it',
    edits: [['this.visits.mark(agentId)', ';']],
    suites: ['session/session'],
  },
  {
    name: 'a failed write leaves its temporary file',
    edits: [
      [
        `} catch (error) {
           discard(point, temp)
           throw error
         } finally {`,
        '}  finally {',
      ],
    ],
    suites: ['host/disk/replace'],
  },
  {
    name: 'a failed rename leaves its temporary file',
    edits: [
      [
        `try {
           io.rename(\`\${point}.rename\`, temp, path)
         } catch (error) {
           discard(point, temp)
           throw error
         }`,
        `try {
             io.rename(\`\${point}.rename\`, temp, path)
           } finally {
         }`,
      ],
    ],
    suites: ['host/disk/replace'],
  },
  {
    name: 'a failed spawn leaves its staging directory',
    step: 'spawn.remove',
    suites: ['storage/create-agent'],
  },
  {
    name: 'a failed spawn leaves its marker',
    edits: [["attempt(() => io.unlink('marker.unlink', marker))", ';']],
    suites: ['storage/create-agent'],
  },
  {
    name: 'a failed spawn keeps its lock',
    edits: [
      [
        `if (isOurs) attempt(() => io.unlink('marker.unlink', marker))
         closeAll(lock, log)`,
        "if (isOurs) attempt(() => io.unlink('marker.unlink', marker))",
      ],
    ],
    suites: ['storage/create-agent'],
  },
  {
    name: 'a snapshot that cannot be written fails the command',
    edits: [
      [
        `} catch (error) {
           if (!(error instanceof SubstratError)) throw error
         } finally {`,
        `} catch (error) {
           throw error
         } finally {`,
      ],
    ],
    suites: ['session/session'],
  },
  {
    name: 'no lock can be taken on a full disk',
    edits: [
      [
        `io.truncate('lock.holder', file, bytes.length)
         } catch {`,
        `io.truncate('lock.holder', file, bytes.length)
         } finally {`,
      ],
    ],
    suites: ['storage/locks/lease'],
  },
  {
    name: 'writing a user file replaces a device',
    edits: [
      [
        "if (facts !== undefined && facts.kind !== 'file') throw unwritableError(path, 'it is not a regular file')",
        "if (facts !== undefined && facts.kind === 'directory') throw unwritableError(path, 'it is not a regular file')",
      ],
    ],
    suites: ['files/user-files'],
  },
  {
    name: 'writing a user file replaces a broken symlink',
    edits: [["found === undefined && lstatIfThere('user_file.lstat', path)?.kind === 'link'", 'false']],
    suites: ['files/user-files'],
  },
  {
    name: 'a temporary file that could not be written is renamed into place',
    edits: [
      [
        `return temp
         } catch (error) {
           discard(point, temp)
           throw error
         } finally {`,
        `return temp
         } catch (error) {
           return temp
         } finally {`,
      ],
    ],
    suites: ['host/disk/replace'],
  },
  {
    name: "a storage failure in a tool becomes the tool's result",
    edits: [["if (tool.kind === 'own' && isStorageFailure(error)) throw error", ';']],
    suites: ['turn/tools/toolbox', 'turn/drive-tools'],
  },
  {
    name: 'an unreadable conversation counts as a failure of the provider',
    edits: [['if (unreadable !== undefined) throw unreadable', ';']],
    suites: ['turn/unreadable'],
  },
]
