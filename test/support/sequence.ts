/** The order of the test files: the longest begin first, so that no core is idle at the end. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files with few but long tests, which would come last by size. */
const LONG = [
  'test/stress/',
  'test/servers/',
  'test/commands/kept-server',
  'test/storage/locks/kernel-lock',
  'test/plugins/opencode.',
]

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.some((part) => moduleId.includes(part))
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}
