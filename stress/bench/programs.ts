/** A turn of an agent program through substrat, compared with the program alone and a scripted send. */
import type { RealProgram } from '../real/program.js'
import { Lab } from '../support/lab.js'
import { LoopbackModel, linkPlugin } from '../support/model.js'
import { type Subject, sampleInTurn } from './measure.js'
import { AGENT_PROGRAMS, afterFirstTurn, type Peer } from './peers.js'
import type { Run } from './run.js'
import { type Row, row, skippedRow } from './table.js'

/** Milliseconds beyond the program alone and a scripted send. */
const OWN_COST = { atMost: 40 }
const ROUNDS = 9

export async function programRows(run: Run, withPeers: boolean): Promise<Row[]> {
  const lab = Lab.open()
  const model = await LoopbackModel.serve(lab, 'stress/bench/model-main.ts', [])
  const rows: Row[] = []
  try {
    await lab.warm()
    for (const peer of AGENT_PROGRAMS) {
      for (const tools of [false, true]) {
        const what = `${peer.program.name} through substrat${tools ? ', with its tools' : ''} - alone - send`
        if (!withPeers) rows.push(skippedRow(what, 'asked for by --peers', OWN_COST))
        else
          try {
            rows.push(
              await costOf(lab, model.url, peer, { what, tools, rounds: Math.max(run.rounds, ROUNDS) }),
            )
          } catch (error) {
            rows.push(skippedRow(what, (error as Error).message.split('\n')[0] as string, OWN_COST))
          }
      }
    }
    return rows
  } finally {
    model.stop()
    lab.close()
  }
}

async function costOf(
  lab: Lab,
  modelUrl: string,
  peer: Peer<RealProgram>,
  { what, tools, rounds }: { what: string; tools: boolean; rounds: number },
): Promise<Row> {
  const home = lab.newHome()
  const { subject: alone, place } = await afterFirstTurn(lab, home, modelUrl, peer)
  const { name, provider, flags } = peer.program
  await linkPlugin(lab, home, provider)
  await lab.do(home, 'spawn', '--name', 'scripted', '--provider', 'scripted')
  const allow = tools ? ['--allow', 'tree'] : []
  await lab.do(home, 'spawn', '--name', 'a', '--provider', provider, ...flags(place), ...allow)
  const sendTo = (agent: string): string[] => [lab.cli, 'send', agent, 'hello']
  const scripted: Subject = { name: 'send', home, argv: sendTo('scripted') }
  const through: Subject = { name: `substrat ${name}`, home, argv: sendTo('a'), env: alone.env ?? {} }
  const samples = sampleInTurn(lab, [alone, scripted, through], rounds)
  const [ours, bare, send] = [samples.wallMs(through), samples.wallMs(alone), samples.wallMs(scripted)]
  const cost = ours.median - bare.median - send.median
  const times = [ours, bare, send].map(({ median }) => median.toFixed(0)).join(' - ')
  const said = `${cost.toFixed(0)} ms (${times}; ${(ours.median / bare.median).toFixed(2)}x)`
  return row(what, cost, said, OWN_COST, ours.least - bare.least - send.least)
}
