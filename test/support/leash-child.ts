/**
 * Holds the leash of a group that another process started, and is killed by the test. With `release` it releases the
 * leash first.
 */
import { leash } from '../../src/provider/leash.js'

const [group, tag, what] = process.argv.slice(2) as [string, string, string]
const held = leash(JSON.parse(group), JSON.parse(tag), undefined)
if (what === 'release') held.release()
process.stdout.write('held\n')
setInterval(() => undefined, 1000)
