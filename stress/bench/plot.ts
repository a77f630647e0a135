/** Draws stress/results/bench.svg: the time of a send by the length of its log, and by the size of its home. */

export interface Point {
  x: number
  y: number
}

interface Panel {
  title: string
  points: Point[]
  left: number
}

const [WIDTH, HEIGHT] = [720, 260]
const [TOP, BOTTOM, PANEL] = [44, 210, 280]

/** Both time axes begin at 0, so that a flat line looks flat. The size axes are logarithmic. */
export function plot(log: Point[], home: Point[], machine: string): string {
  const most = Math.max(...[...log, ...home].map(({ y }) => y))
  const top = Math.ceil((most * 1.25) / 20) * 20
  const panels = [
    { title: 'records in the log', points: log, left: 50 },
    { title: 'agents in the home', points: home, left: 410 },
  ]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11">`,
    `<title>the time of a send over the length of its log and over the size of its home</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="12" y="20" font-size="13">one durable send, in ms: ${escapeXml(machine)}</text>`,
    ...panels.flatMap((panel) => panelLines(panel, top)),
    `</svg>`,
    ``,
  ].join('\n')
}

function panelLines({ title, points, left }: Panel, top: number): string[] {
  const decades = points.map(({ x }) => Math.log10(x))
  const [least, most] = [Math.min(...decades), Math.max(...decades)]
  const toX = (x: number): number => left + ((Math.log10(x) - least) / (most - least || 1)) * PANEL
  const toY = (y: number): number => BOTTOM - (y / top) * (BOTTOM - TOP)
  const at = ({ x, y }: Point): string => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`
  const ticks = [0, top / 4, top / 2, (3 * top) / 4, top]
  return [
    ...ticks.flatMap((tick) => [
      `<path d="M${left} ${toY(tick)}h${PANEL}" stroke="#ddd"/>`,
      `<text x="${left - 6}" y="${toY(tick) + 4}" text-anchor="end">${Number(tick.toFixed(1))}</text>`,
    ]),
    ...points.flatMap(({ x, y }) => [
      `<text x="${toX(x).toFixed(1)}" y="${BOTTOM + 16}" text-anchor="middle">${x.toLocaleString('en-US')}</text>`,
      `<text x="${toX(x).toFixed(1)}" y="${(toY(y) - 8).toFixed(1)}" text-anchor="middle" fill="#246">${y.toFixed(0)}</text>`,
    ]),
    `<polyline points="${points.map(at).join(' ')}" fill="none" stroke="#246" stroke-width="2"/>`,
    ...points.map(
      (point) =>
        `<circle cx="${at(point).split(',')[0]}" cy="${at(point).split(',')[1]}" r="3" fill="#246"/>`,
    ),
    `<text x="${left + PANEL / 2}" y="${BOTTOM + 36}" text-anchor="middle">${title}</text>`,
  ]
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
