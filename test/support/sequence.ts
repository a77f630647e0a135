/** The order of the test files: the longest begin first, so that no core is idle at the end. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files whose tests are few but long, the longest first. By size, they would come last. */
const LONG = [
  'test/servers/move-over-sshd',
  'test/servers/readme',
  'test/servers/page',
  'test/servers/acpx',
  'test/store-postgres/migrate',
  'test/store-postgres/lost-calls',
  'test/stress/',
  'test/store-postgres/',
  'test/commands/kept-server',
  'test/dispatch/turn-answers',
  'test/package/demo',
  'test/storage/locks/kernel-lock',
  'test/plugins/opencode',
]

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = LONG.findIndex((part) => moduleId.includes(part))
      return place === -1 ? LONG.length : place
    }
    return sorted.sort((one, other) => rank(one) - rank(other))
  }
}
