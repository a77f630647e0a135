/** Rule 6: a sync that fails is never tried again. */
import type { Mutant } from '../mutant.js'

export const FAILED_SYNC: Mutant[] = [
  {
    name: 'after a failed sync it may be appended',
    file: 'storage/log/log.ts',
    from: '      this.isBroken = true\n      throw error',
    to: '      throw error',
    suites: ['storage/log/log'],
  },
  {
    name: 'a failed sync is tried again',
    file: 'storage/log/log.ts',
    from: '    } catch (error) {\n      this.isBroken = true\n      throw error\n    }\n',
    to: `    } catch {\n      io.fdatasync('log.sync', this.file)\n    }\n`,
    suites: ['storage/log/log'],
  },
  {
    name: 'a failed sync is a batch all the same',
    file: 'storage/log/log.ts',
    from: '    } catch (error) {\n      this.isBroken = true\n      throw error\n    }\n',
    to: '    } catch {\n      this.isBroken = true\n    }\n',
    suites: ['storage/log/log'],
  },
  {
    name: 'a writer that is broken appends',
    file: 'storage/log/log.ts',
    from: '    if (this.isBroken)\n      throw',
    to: '    if (this.end < 0)\n      throw',
    suites: ['storage/log/log'],
  },
  {
    name: 'a failed sync of a file is a failed write',
    file: 'host/disk/operation.ts',
    from: `(['fdatasync', 'fsync', 'sync_directory'])`,
    to: `(['sync_directory'])`,
    suites: ['host/disk/io', 'storage/log/log'],
  },
  {
    name: 'a failed sync of a directory is a failed write',
    file: 'host/disk/operation.ts',
    from: `(['fdatasync', 'fsync', 'sync_directory'])`,
    to: `(['fdatasync', 'fsync'])`,
    suites: ['host/disk/io', 'storage/rules#6:', 'storage/birth'],
  },
  {
    name: 'the failure to tidy up hides the failed sync',
    file: 'host/disk/replace.ts',
    from: '  } catch {\n    // Swept by recovery.\n  }',
    to: '  } finally {\n  }',
    suites: ['host/disk/replace'],
  },
  {
    name: 'an answer that the disk did not take counts as not sent for now',
    file: 'mail/answers.ts',
    from: `return ['STORAGE_FAILED', 'SYNC_FAILED', 'UNEXPECTED'].includes(code)`,
    to: `return code === 'UNEXPECTED'`,
    suites: ['mail/answers'],
  },
  {
    name: 'the failure to record is a failure of the program',
    file: 'turn/ask/storage-guard.ts',
    from: `      this.hasFailed = true
`,
    to: '',
    suites: ['turn/drive-agent#of the program that is to run', 'turn/drive-agent'],
  },
  {
    name: 'after a failure of storage a visit ends as if it were clean',
    file: 'dispatch/visit.ts',
    from: '    if (isStorageFailure(error)) await session.abandon()\n    else await closeAfter(ctx, session)',
    to: '    await closeAfter(ctx, session)',
    suites: ['dispatch/visit'],
  },
]
