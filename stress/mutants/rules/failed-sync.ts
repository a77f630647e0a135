/** Rule 6: a failed sync is never retried. */
import type { Mutant } from '../mutant.js'

export const FAILED_SYNC: Mutant[] = [
  {
    name: 'the writer appends after a failed fsync',
    edits: [
      [
        `} catch (error) {
           this.isBroken = true`,
        '} catch (error) {',
      ],
    ],
    suites: ['storage/log/log'],
  },
  {
    name: 'the writer retries a failed fsync',
    edits: [
      [
        `catch (error) {
           this.isBroken = true
           throw error
         }`,
        `catch {
           io.fdatasync('log.sync', this.file)
         }`,
      ],
    ],
    suites: ['storage/log/log'],
  },
  {
    name: 'a batch whose fsync failed counts as written',
    edits: [
      [
        `catch (error) {
           this.isBroken = true
           throw error
         }`,
        `catch {
         this.isBroken = true
         }`,
      ],
    ],
    suites: ['storage/log/log'],
  },
  {
    name: 'a writer with a recorded failure appends',
    edits: [['if (this.isBroken)', 'if (this.end < 0)']],
    suites: ['storage/log/log'],
  },
  {
    name: 'a failed fsync of a file is reported as a failed write',
    edits: [["['fdatasync', 'fsync', 'sync_directory']", "['sync_directory']"]],
    suites: ['host/disk/io', 'storage/log/log'],
  },
  {
    name: 'a failed fsync of a directory is reported as a failed write',
    edits: [[", 'sync_directory'", '']],
    suites: ['host/disk/io', 'storage/rules#6:', 'storage/create-agent'],
  },
  {
    name: 'a failed cleanup hides the failed fsync',
    edits: [
      [
        `try {
           io.unlink(\`\${point}.unlink\`, temp)
         } catch {
         }`,
        `try {
           io.unlink(\`\${point}.unlink\`, temp)
         } finally {
           // Recovery sweeps it.
         }`,
      ],
    ],
    suites: ['host/disk/replace'],
  },
  {
    name: 'a storage failure while sending an answer is not reported',
    edits: [["['STORAGE_FAILED', 'SYNC_FAILED', 'UNEXPECTED'].includes(code)", "code === 'UNEXPECTED'"]],
    suites: ['mail/answers'],
  },
  {
    name: 'a storage failure counts as a failure of the program',
    edits: [
      [
        `this.failure ??= error
         this.hasFailed = true`,
        'this.failure ??= error',
      ],
    ],
    suites: ['turn/drive-agent#before the record of a launch', 'turn/drive-agent'],
  },
  {
    name: 'a visit closes the session cleanly after a storage failure',
    edits: [
      [
        `if (isStorageFailure(error)) await session.abandon()
         else await closeAfter(ctx, session)`,
        'await closeAfter(ctx, session)',
      ],
    ],
    suites: ['dispatch/visit'],
  },
]
