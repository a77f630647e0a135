// npm run stress:signals -- [--signals 1,15,34] [--target all] [--turn exec] [--lanes 2] [--list]
// Sends each signal of `kill -l` during a turn: to substrat, to its program, or to all processes. Exits 1 if the next
// command does not continue as documented. The lab does not send signals that stop a process; --list names them.
import { parseArgs } from 'node:util'
import { signalEffects } from './signals/effects.js'
import { type Case, type Judged, strikeOnce, TARGETS, TURNS } from './signals/trial.js'
import { Lab } from './support/lab.js'
import { countOf, recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    signals: { type: 'string' },
    target: { type: 'string' },
    turn: { type: 'string' },
    lanes: { type: 'string', default: '2' },
    list: { type: 'boolean', default: false },
  },
})
const effects = signalEffects()
if (values.list) {
  for (const { number, name, substrat, program } of effects)
    console.log([String(number).padStart(2), name.padEnd(12), substrat.padEnd(6), program].join('  '))
  process.exit(0)
}
const numbers = values.signals?.split(',').map(Number)
const queue: Case[] = effects
  .filter(({ number, substrat }) => substrat !== 'stops' && (numbers?.includes(number) ?? true))
  .flatMap((signal) => TARGETS.flatMap((target) => TURNS.map((turn) => ({ signal, target, turn }))))
  .filter(({ target, turn }) => (values.target ?? target) === target && (values.turn ?? turn) === turn)
const lab = Lab.open()
const judged: Judged[] = []
try {
  await lab.warm()
  await Promise.all(Array.from({ length: Number(values.lanes) }, lane))
} finally {
  lab.close()
}
report()

async function lane(): Promise<void> {
  for (let it = queue.shift(); it !== undefined; it = queue.shift()) {
    const one = await strikeOnce(lab, it)
    judged.push(one)
    const { signal, target, turn, expected, exit, violations } = one
    if (violations.length === 0) continue
    console.log(`${signal.name} to ${target}, ${turn}: ${expected}, exit ${exit}`)
    for (const violation of violations) console.log(`    must hold: ${violation}`)
    console.log(
      `    again: npm run stress:signals -- --signals ${signal.number} --target ${target} --turn ${turn}`,
    )
  }
}

function report(): void {
  console.log('target    turn  expected        cases  violated')
  for (const target of TARGETS) {
    for (const turn of TURNS) {
      const those = judged.filter((each) => each.target === target && each.turn === turn)
      for (const expected of new Set(those.map((each) => each.expected))) {
        const cases = those.filter((each) => each.expected === expected)
        const violated = cases.filter(({ violations }) => violations.length > 0).length
        console.log(
          [
            target.padEnd(8),
            turn.padEnd(4),
            expected.padEnd(14),
            String(cases.length).padStart(5),
            violated,
          ].join('  '),
        )
      }
    }
  }
  const violated = judged.filter(({ violations }) => violations.length > 0).length
  console.log(`${judged.length} cases, ${violated} violated`)
  const signals = new Set(judged.map(({ signal }) => signal.number)).size
  const sample = `${countOf(signals, effects.length, 'signals')}, to ${new Set(judged.map(({ target }) => target)).size} targets`
  recordResult({ lab: 'signals', sample, cases: judged.length, violations: violated })
  if (violated > 0) process.exitCode = 1
}
