/** Draws docs/images/postgres-hosts.svg: turns a second by the number of hosts. */
import type { Point } from '../bench/plot.js'

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM, PANEL] = [480, 260, 50, 44, 210, 390]

/** The axis of turns begins at 0. The axis of hosts is logarithmic. */
export function hostsPlot(points: Point[], machine: string): string {
  const top = Math.ceil((Math.max(...points.map(({ y }) => y)) * 1.25) / 4) * 4
  const most = Math.log2(Math.max(...points.map(({ x }) => x)))
  const toX = (x: number): number => LEFT + (Math.log2(x) / most) * PANEL
  const toY = (y: number): number => BOTTOM - (y / top) * (BOTTOM - TOP)
  const at = ({ x, y }: Point): string => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11">`,
    `<title>turns a second of a home in PostgreSQL, by the number of hosts</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="12" y="20" font-size="13">turns a second, each a process: ${machine.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`,
    ...[0, top / 4, top / 2, (3 * top) / 4, top].flatMap((tick) => [
      `<path d="M${LEFT} ${toY(tick)}h${PANEL}" stroke="#ddd"/>`,
      `<text x="${LEFT - 6}" y="${toY(tick) + 4}" text-anchor="end">${tick}</text>`,
    ]),
    ...points.flatMap((point) => [
      `<text x="${toX(point.x)}" y="${BOTTOM + 16}" text-anchor="middle">${point.x}</text>`,
      `<text x="${toX(point.x)}" y="${toY(point.y) - 8}" text-anchor="middle" fill="#246">${point.y.toFixed(1)}</text>`,
      `<circle cx="${toX(point.x)}" cy="${toY(point.y)}" r="3" fill="#246"/>`,
    ]),
    `<polyline points="${points.map(at).join(' ')}" fill="none" stroke="#246" stroke-width="2"/>`,
    `<text x="${LEFT + PANEL / 2}" y="${BOTTOM + 36}" text-anchor="middle">hosts</text>`,
    `</svg>`,
    ``,
  ].join('\n')
}
